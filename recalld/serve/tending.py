"""The verbs ``audit``, ``prune`` and ``consolidate``: procedural memory looks after itself, and asks before it acts."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from anyio import to_thread

from recalld.bus import wire
from recalld.errors import NotFoundError
from recalld.ingest.kinds import GUIDING
from recalld.jobs.maintain import Maintain, Step
from recalld.lessons.audit import Audit, Loaded, audit
from recalld.lessons.consolidate import Group, Member, groups
from recalld.lessons.lesson_file import read_lesson, render
from recalld.lessons.likeness import Said
from recalld.lessons.policy import LearnPolicy
from recalld.lessons.prune import Candidate, Decision, Kept, decide
from recalld.model import Repo
from recalld.serve.learn import said_in
from recalld.serve.repo_files import RepoFiles
from recalld.serve.runs import Runs
from recalld.settings import LessonSettings
from recalld.store import Store
from recalld.store.lessons import MemoryFile, Moved
from recalld.store.usage import Use
from recalld.trust.graph import Graph
from recalld.trust.standing import Status, kind_of_status
from recalld.trust.verdict import Moment, Verdict, judge_standing
from recalld.watch.changing import Create

_STALE = (Verdict.SUPERSEDED, Verdict.RETIRED, Verdict.EXPIRED)
Count = Callable[[Sequence[str]], Awaitable[Sequence[int]]]
"""Counts the tokens of texts."""


@dataclass(slots=True)
class Tending:
    """Looks after the lessons of repos.

    ``settle`` has counts of uses written that are not yet; ``more_steps`` are those that maintenance takes beside.
    """

    store: Store
    files: RepoFiles
    runs: Runs
    policy: Callable[[Repo], Awaitable[LearnPolicy]]
    settings: LessonSettings
    count: Count
    settle: Callable[[], Awaitable[None]]
    clock: Callable[[], datetime]
    more_steps: Sequence[Step] = ()

    async def audit(self, agent: str | None, request: wire.AuditRequest) -> wire.AuditReply:
        """Look at rules, skills and lessons. Raises NotFoundError."""
        await self.settle()
        repos = await self.files.repos(agent, request.repo)
        return wire.AuditReply(repos=tuple([await self._audited(repo) for repo in repos]))

    async def prune(self, agent: str | None, request: wire.PruneRequest) -> wire.PruneReply:
        """Say which lessons may be put away, or put them away. Raises NotFoundError, RefusedError, UnreachableError."""
        await self.settle()
        repos = await self.files.repos(agent, request.repo)
        return wire.PruneReply(repos=tuple([await self._pruned(repo, agent, apply=request.apply) for repo in repos]))

    async def consolidate(self, agent: str | None, request: wire.ConsolidateRequest) -> wire.ConsolidateReply:
        """Say which lessons say the same, or merge groups as they were shown. Raises NotFoundError, RefusedError."""
        found: list[wire.GroupView] = []
        left = set(request.accept)
        for repo in await self.files.repos(agent, request.repo):
            shown = [(group, self._group(repo, group)) for group in await self._groups(repo)]
            if not request.accept:
                found += [view for _, view in shown]
            for group, view in shown:
                if group.id in left and not view.why_not:
                    left.discard(group.id)
                    found.append(await self._merge(repo, agent or "", group))
        if left:
            raise NotFoundError(
                f"no group {', '.join(sorted(left))} that can be merged; groups that could be were: "
                f"{', '.join(view.id for view in found) or 'none'}",
                suggestion="its files were changed since, or a person wrote one: see `recall consolidate`",
            )
        return wire.ConsolidateReply(groups=tuple(found))

    def steps(self, agent: str | None, repo: str | None) -> list[Step]:
        """Return what one pass of maintenance does to lessons; it puts some away only where the settings say so."""
        apply = self.settings.auto_prune

        async def audited() -> Mapping[str, Any]:
            return (await self.audit(agent, wire.AuditRequest(repo=repo))).model_dump(mode="json")

        async def pruned() -> Mapping[str, Any]:
            return (await self.prune(agent, wire.PruneRequest(repo=repo, apply=apply))).model_dump(mode="json")

        async def consolidated() -> Mapping[str, Any]:
            return (await self.consolidate(agent, wire.ConsolidateRequest(repo=repo))).model_dump(mode="json")

        return [Step("audit", audited), Step("prune", pruned), Step("consolidate", consolidated)]

    async def maintain(self, agent: str, request: wire.MaintainRequest) -> wire.MaintainReply:
        """Run one pass: the steps on lessons, then those that were added. A step that fails says so."""
        await self.files.repos(agent, request.repo)
        steps = [*self.steps(agent, request.repo), *self.more_steps]
        done = await Maintain(steps, time.monotonic).run()
        return wire.MaintainReply(
            steps=tuple(
                wire.StepView(name=each.name, took_ms=each.took_ms, result=dict(each.result), error=each.error)
                for each in done
            )
        )

    async def _audited(self, repo: Repo) -> wire.AuditView:
        files = await self.store.lessons.memory(repo.id, GUIDING)
        uses = await self.store.usage.of_repo(repo.id)
        graph = Graph(await self.store.standings.around([file.id for file in files]))
        texts = [file.text for file in files]
        checks = [said_in(file).check for file in files]
        tokens, check_tokens = await self.count(texts), await self.count(checks)
        moment = Moment(self.clock())
        loaded = [
            _loaded(file, tokens[at], check_tokens[at] if checks[at] else 0, graph, moment)
            for at, file in enumerate(files)
        ]
        found = await to_thread.run_sync(audit, loaded, uses, self.clock())
        return _audit_view(repo, found, await self.store.usage.counted_since(repo.id))

    async def _members(self, repo: Repo) -> list[Member]:
        """Return a repo's lessons as they lie on disk."""
        paths = [file.path for file in await self.store.lessons.memory(repo.id, ["lesson"])]
        contents = await self.files.read(repo, paths)
        return await to_thread.run_sync(
            lambda: [Member(path, content, read_lesson(path, content)) for path, content in contents.items()]
        )

    async def _pruned(self, repo: Repo, agent: str | None, *, apply: bool) -> wire.PruneView:
        if not apply or repo.read_only:
            decision, _ = await self._decision(repo)
            return _prune_view(repo, decision)
        async with self.files.turn(repo):
            decision, contents = await self._decision(repo)
            if not decision.proposed:
                return _prune_view(repo, decision)
            run, policy = self.runs.new_id(), await self.policy(repo)
            moves = [
                Moved(each.path, policy.archived(run, each.path), contents[each.path].digest)
                for each in decision.proposed
            ]
            seq = await self.runs.carry_out(repo, run, "prune", agent or "", moves)
        return _prune_view(repo, decision, run, seq)

    async def _decision(self, repo: Repo) -> tuple[Decision, dict[str, Member]]:
        uses = await self.store.usage.of_repo(repo.id)
        members = await self._members(repo)
        decision = decide(
            [Candidate(each.path, each.lesson, uses.get(each.path, Use())) for each in members],
            now=self.clock(),
            grace=timedelta(days=self.settings.grace_days),
            most=self.settings.prune_cap,
            counted_since=await self.store.usage.counted_since(repo.id),
        )
        if repo.read_only:
            kept = (*decision.kept, *(Kept(each.path, "the repo is read-only") for each in decision.proposed))
            decision = Decision((), kept)
        return decision, {each.path: each for each in members}

    async def _groups(self, repo: Repo) -> list[Group]:
        members = await self._members(repo)
        over = (Status.SUPERSEDED, Status.RETIRED)
        standing = [each for each in members if kind_of_status(each.lesson.status) not in over]
        return await to_thread.run_sync(groups, standing)

    async def _merge(self, repo: Repo, agent: str, group: Group) -> wire.GroupView:
        run, policy = self.runs.new_id(), await self.policy(repo)
        moves = [Moved(each.path, policy.archived(run, each.path), each.digest) for each in group.members]
        made = Create(group.base.path, render(group.merged()).encode())
        async with self.files.turn(repo):
            seq = await self.runs.carry_out(repo, run, "consolidate", agent, moves, [made])
        return self._group(repo, group).model_copy(update={"run": run, "seq": seq})

    def _group(self, repo: Repo, group: Group) -> wire.GroupView:
        why_not = "the repo is read-only" if repo.read_only else group.why_not
        return wire.GroupView(
            id=group.id,
            repo=repo.name,
            paths=tuple(each.path for each in group.members),
            into=group.base.path,
            merged="" if why_not else render(group.merged()),
            diff="" if why_not else group.diff(),
            why_not=why_not,
        )


def _loaded(file: MemoryFile, tokens: int, check_tokens: int, graph: Graph, moment: Moment) -> Loaded:
    member = graph.members.get(file.id)
    judged = judge_standing(member, graph, moment) if member is not None else None
    stale = judged is not None and judged.verdict in _STALE
    return Loaded(
        path=file.path,
        kind=file.kind,
        tokens=tokens,
        check_tokens=check_tokens,
        content_hash=file.content_hash,
        said=said_in(file) if file.kind == "lesson" else Said(file.title),
        proposed=file.kind == "lesson" and str(file.metadata.get("status", "")).casefold() == "proposed",
        verdict=str(judged.verdict) if judged is not None and stale else "",
        reason=judged.reason if judged is not None and stale else "",
    )


def _audit_view(repo: Repo, found: Audit, since: datetime | None) -> wire.AuditView:
    stale = (
        wire.StaleView(path=each.path, kind=each.kind, verdict=each.verdict, reason=each.reason) for each in found.stale
    )
    return wire.AuditView(
        repo=repo.name,
        files=found.files,
        never_used=found.never_used,
        counted_since=since,
        stale=tuple(stale),
        duplicates=found.duplicates,
        proposed=found.proposed,
        loaded_tokens=found.loaded_tokens,
        surfaced_tokens=found.surfaced_tokens,
        surfacings=found.surfacings,
        days=round(found.days, 2),
        saving=found.saving,
    )


def _prune_view(repo: Repo, decision: Decision, run: str = "", seq: int = 0) -> wire.PruneView:
    kept = tuple(wire.KeptView(path=each.path, reason=each.reason) for each in decision.kept)
    proposed = tuple(each.path for each in decision.proposed)
    return wire.PruneView(repo=repo.name, proposed=proposed, kept=kept, run=run, seq=seq)
