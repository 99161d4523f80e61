"""``recall_lint``: what is wrong with the files of a watched repo, as ``recall lint`` finds it. It asks no daemon but
for where the repo is, and reads no other directory."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from anyio import to_thread

from recalld.bus import wire
from recalld.errors import NotFoundError, RefusedError
from recalld.model import Severity
from recalld_plugins.mcp.declare import Memory


class LintRequest(wire.Request):
    """Which repo, and which file of it (None: all)."""

    repo: str
    path: str | None = None
    min_severity: Severity = Severity.WARNING


class LintFinding(wire.Reply):
    """One fault."""

    path: str
    line: int | None
    code: str
    severity: Severity
    message: str
    hint: str


class LintReply(wire.Reply):
    """Errors first."""

    repo: str
    findings: tuple[LintFinding, ...]


async def lint(memory: Memory, request: LintRequest) -> LintReply:
    """Lint the files of a repo. Raises NotFoundError, RefusedError where they are on another machine."""
    from recalld.lint.check import check, ordered
    from recalld.lint.corpus import only, read_corpus
    from recalld.watch.disk import RootGoneError

    repo = await _repo(memory, request.repo)
    await memory.progress(1, None, f"reading the files of {repo.name}")
    try:
        corpus = await read_corpus(Path(repo.path), datetime.now(UTC))
    except RootGoneError as error:
        raise NotFoundError(
            f"{repo.path} cannot be read: {error.strerror}", suggestion=f"run `recall lint` on node {repo.node}"
        ) from error
    found = await to_thread.run_sync(
        lambda: ordered([*corpus.findings, *check(corpus.memory)], request.min_severity), abandon_on_cancel=True
    )
    told = found if request.path is None else only(found, frozenset({request.path}))
    return LintReply(repo=repo.name, findings=tuple(map(LintFinding.model_validate, told)))


async def _repo(memory: Memory, name: str) -> wire.RepoView:
    repos = {repo.name: repo for repo in (await memory.client.repo_list()).repos}
    if name not in repos:
        known = ", ".join(sorted(repos)) or "none yet: `recall repo add DIR`"
        raise NotFoundError(f"no repo {name}", suggestion=f"repos are {known}")
    if repos[name].node != memory.node:
        raise RefusedError(
            f"the files of {name} are on node {repos[name].node}", suggestion="run `recall lint` on that machine"
        )
    return repos[name]
