"""The verbs ``lessons``, ``mark`` and ``review``: which lessons there are, whether they help, whether they hold."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256

from anyio import to_thread

from recalld.bus import wire
from recalld.errors import BusyError, NotFoundError, RefusedError
from recalld.lessons.lesson_edit import with_key
from recalld.lessons.lesson_file import LessonFile, read_lesson
from recalld.lessons.policy import LearnPolicy
from recalld.model import Repo
from recalld.serve.documents import DocumentVerbs
from recalld.serve.repo_files import RepoFiles
from recalld.serve.runs import Runs
from recalld.store import Store, StoredDocument
from recalld.store.lessons import MemoryFile, Moved
from recalld.store.usage import Use
from recalld.watch.changing import Replace

_EDITS = {
    "accept": "take the line `status: proposed` out of it",
    "reject": "delete it, or write `status: rejected`",
    "pin": "write `pinned: true` into its frontmatter",
    "unpin": "take `pinned: true` out of its frontmatter",
}
_SOON = "ask again in a moment"


@dataclass(slots=True)
class LessonVerbs:
    """Lists, marks and reviews lessons."""

    store: Store
    documents: DocumentVerbs
    files: RepoFiles
    runs: Runs
    policy: Callable[[Repo], Awaitable[LearnPolicy]]
    clock: Callable[[], datetime]

    async def lessons(self, agent: str, request: wire.LessonsRequest) -> wire.LessonsReply:
        """List lessons as the index has them, with what became of them."""
        found: list[wire.LessonView] = []
        for repo in await self.files.repos(agent, request.repo):
            files = await self.store.lessons.memory(repo.id, ["lesson"])
            uses = await self.store.usage.of_repo(repo.id)
            found += await to_thread.run_sync(_views, files, uses)
        return wire.LessonsReply(
            lessons=tuple(each for each in found if each.status.casefold() == "proposed" or not request.proposed)
        )

    async def mark(self, agent: str, request: wire.MarkRequest) -> wire.MarkReply:
        """Count that a guardrail helped or failed. Raises NotFoundError for one that is not there."""
        document, section = await self._find(agent, request.ref, request.repo)
        guardrail = f"{document.path}#{section}" if section else document.path
        use = await self.store.usage.mark(document.repo, guardrail, request.outcome, self.clock())
        return wire.MarkReply(
            repo=document.repo, id=guardrail, outcome=request.outcome, helped=use.helped, failed=use.failed
        )

    async def review(self, agent: str, request: wire.ReviewRequest) -> wire.ReviewReply:
        """Accept, reject, pin or unpin a lesson that the daemon wrote.

        Raises NotFoundError for what is no lesson, RefusedError for a person's file or a read-only repo.
        """
        document = await self._document(agent, request.ref, request.repo)
        repo = await self.files.writable(agent, document.repo)
        async with self.files.turn(repo):
            content = (await self.files.read(repo, [document.path])).get(document.path)
            if content is None or document.kind != "lesson":
                raise NotFoundError(
                    f"{document.path} is no lesson that is there", suggestion="see `recall lessons list`"
                )
            lesson = read_lesson(document.path, content)
            if not lesson.machine_written:
                raise RefusedError(
                    f"a person wrote or changed {document.path}: it is theirs", suggestion=_EDITS[request.action]
                )
            if request.action == "reject":
                return await self._reject(agent, repo, document.path, content)
            return await self._edit(repo, document.path, content, lesson, request.action)

    async def _find(self, agent: str, ref: str, repo: str | None) -> tuple[StoredDocument, str]:
        """Return the document that a guardrail stands in, and its section; a path may itself hold a ``#``."""
        try:
            return await self._document(agent, ref, repo), ""
        except NotFoundError:
            path, mark, section = ref.rpartition("#")
            if not mark or not path:
                raise
            return await self._document(agent, path, repo), section

    async def _document(self, agent: str, ref: str, repo: str | None) -> StoredDocument:
        """Return the document that is meant. Raises BusyError for a lesson that was written and is not indexed yet."""
        try:
            return await self.documents.find(agent, ref, repo)
        except NotFoundError:
            for each in await self.files.repos(agent, repo):
                fresh = await self.store.lessons.unindexed(each.id, each.name)
                if any(ref in (file.path, f"{each.name}:{file.path}") for file in fresh):
                    raise BusyError(f"{ref} was written just now and is being indexed", suggestion=_SOON) from None
            raise

    async def _edit(self, repo: Repo, path: str, content: bytes, lesson: LessonFile, action: str) -> wire.ReviewReply:
        if action == "accept":
            key, value, stands = "status", None, not lesson.proposed
        else:
            key, value, stands = "pinned", (True if action == "pin" else None), lesson.pinned is (action == "pin")
        if stands:
            return wire.ReviewReply(repo=repo.name, path=path, action=action, changed=False)
        after = with_key(path, content, key, value)
        seq = await self.files.change(repo, [Replace(path, sha256(content).hexdigest(), after)])
        return wire.ReviewReply(repo=repo.name, path=path, action=action, changed=True, seq=seq)

    async def _reject(self, agent: str, repo: Repo, path: str, content: bytes) -> wire.ReviewReply:
        run, policy = self.runs.new_id(), await self.policy(repo)
        moved = Moved(path, policy.archived(run, path), sha256(content).hexdigest())
        seq = await self.runs.carry_out(repo, run, "reject", agent, [moved])
        return wire.ReviewReply(repo=repo.name, path=path, action="reject", changed=True, run=run, seq=seq)


def _views(files: Sequence[MemoryFile], uses: Mapping[str, Use]) -> list[wire.LessonView]:
    return [_view(each, uses) for each in files]


def _view(file: MemoryFile, uses: Mapping[str, Use]) -> wire.LessonView:
    lesson = read_lesson(file.path, file.text.encode("utf-8", "surrogatepass"))
    return wire.LessonView(
        repo=file.repo,
        path=file.path,
        title=file.title,
        check=lesson.check,
        status=lesson.status or "active",
        seen_count=max(lesson.seen_count, 1) if lesson.learned_by else lesson.seen_count,
        learned_by=lesson.learned_by,
        learned_at=lesson.learned_at,
        last_seen=lesson.last_seen,
        pinned=lesson.pinned,
        machine_written=lesson.machine_written,
        use=wire.UseView.model_validate(asdict(uses.get(file.path, Use()))),
    )
