"""The verb ``learn``: a lesson becomes a file, or one that is there already is seen again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from anyio import to_thread

from recalld.bus import wire
from recalld.errors import RefusedError, UsageError
from recalld.lessons.echo import Heard, echo, receipts_in
from recalld.lessons.lesson_edit import seen_again
from recalld.lessons.lesson_file import LessonFile, learned, read_lesson, render
from recalld.lessons.likeness import Said, likeness, same_lesson
from recalld.lessons.policy import LearnPolicy
from recalld.lint.secrets import secrets
from recalld.model import Repo
from recalld.serve.repo_files import RepoFiles
from recalld.store import Store
from recalld.store.lessons import MemoryFile
from recalld.trust.standing import Status, kind_of_status
from recalld.watch.changing import Create, Replace

ECHO_HOURS = 12
"""How long what an agent was told is no source of lessons."""
HEARD = 500
"""Documents that are looked at for that, the newest."""
LOOKED_AT = 5
"""Lessons of the index that are read anew from disk before one of them is seen again."""
NAMES = 100
"""Lessons whose titles may give the same file name."""
_OVER = (Status.SUPERSEDED, Status.RETIRED)


@dataclass(slots=True)
class LearnVerb:
    """Writes lessons; ``policy`` tells what a repo says of it."""

    store: Store
    files: RepoFiles
    policy: Callable[[Repo], Awaitable[LearnPolicy]]
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.LearnRequest) -> wire.LearnReply:
        """Write a lesson, or note that it was seen again.

        Raises RefusedError for a secret or an echo, UsageError for a title or check that says nothing, or where several
        repos could be meant, NotFoundError, UnreachableError.
        """
        repo = await self.files.writable(agent, request.repo)
        policy = await self.policy(repo)
        lesson = self._lesson(agent, request, policy)
        _refuse_secrets(lesson)
        async with self.files.turn(repo):
            return await self._again(agent, repo, lesson) or await self._new(agent, repo, policy, lesson)

    def _lesson(self, agent: str, request: wire.LearnRequest, policy: LearnPolicy) -> LessonFile:
        lesson = learned(
            title=request.title,
            check=request.check,
            body=request.body,
            scope=request.scope,
            tags=request.tags,
            trigger=request.trigger,
            proposed=request.proposed or policy.proposed,
            agent=agent,
            at=self.clock(),
        )
        if not lesson.title or not lesson.check:
            raise UsageError("title and check must say something", suggestion="give both in words, on one line each")
        return lesson

    async def _again(self, agent: str, repo: Repo, lesson: LessonFile) -> wire.LearnReply | None:
        """Note a lesson that the memory has as seen again; None where it has none like it."""
        known = await self.store.lessons.memory(repo.id, ["lesson"])
        fresh = await self.store.lessons.unindexed(repo.id, repo.name)
        files = {file.path: file for file in (*known, *fresh)}
        said = Said(lesson.title, lesson.check, lesson.body)
        for path in await to_thread.run_sync(alike, said, list(files.values())):
            content = (await self.files.read(repo, [path])).get(path)
            if content is None:
                await self.store.lessons.not_there(repo.id, path)
                continue
            there = read_lesson(path, content)
            if kind_of_status(there.status) not in _OVER and same_lesson(
                said, Said(there.title, there.check, there.body)
            ):
                return await self._seen(agent, repo, path, content, there)
        return None

    async def _seen(self, agent: str, repo: Repo, path: str, content: bytes, lesson: LessonFile) -> wire.LearnReply:
        """Note it in the file; a person's file is left as it is, and the recurrence is counted beside it."""
        at = self.clock()
        use = await self.store.usage.mark(repo.name, path, "recurred", at)
        after = _with_sighting(path, content, at, agent) if lesson.learned_by else None
        count, seq = max(lesson.seen_count, 1) + use.recurred, 0
        if after is not None:
            seq = await self.files.change(repo, [Replace(path, sha256(content).hexdigest(), after)])
            await self._note(repo, path, after)
            count = read_lesson(path, after).seen_count
        status = lesson.status or "active"
        return wire.LearnReply(
            repo=repo.name, path=path, id=path, status=status, action="recurred", seen_count=count, seq=seq
        )

    async def _new(self, agent: str, repo: Repo, policy: LearnPolicy, lesson: LessonFile) -> wire.LearnReply:
        await self._refuse_echo(agent, lesson)
        content = render(lesson).encode()
        path, seq = await self._created(repo, policy, lesson.title, content)
        await self._note(repo, path, content)
        status = lesson.status or "active"
        return wire.LearnReply(
            repo=repo.name, path=path, id=path, status=status, action="created", seen_count=1, seq=seq
        )

    async def _created(self, repo: Repo, policy: LearnPolicy, title: str, content: bytes) -> tuple[str, int]:
        """Make the file under the first name that is free; return its path and sequence."""
        number = 1
        while True:
            path = policy.place(title, number)
            if not await self.files.read(repo, [path]):
                try:
                    return path, await self.files.change(repo, [Create(path, content)])
                except RefusedError:  # something that cannot be read stands there, or was put there just now
                    if number >= NAMES:
                        raise
            number += 1

    async def _note(self, repo: Repo, path: str, content: bytes) -> None:
        text, digest = content.decode("utf-8", "replace"), sha256(content).hexdigest()
        await self.store.lessons.written(repo.id, path, text, digest, self.clock())

    async def _refuse_echo(self, agent: str, lesson: LessonFile) -> None:
        """Raise RefusedError for what the memory itself said. A failure that recurs was found before: it is no echo."""
        for id_ in await self.store.receipts.known(receipts_in(f"{lesson.text}\n{lesson.trigger}")):
            raise RefusedError(f"the text carries the receipt {id_}: it is an answer, not a lesson", suggestion=_OWN)
        since = self.clock() - timedelta(hours=ECHO_HOURS)
        heard = [Heard(*each) for each in await self.store.receipts.recited(agent, since, HEARD)]
        source = await to_thread.run_sync(echo, (lesson.body, lesson.check), heard)
        if source is not None:
            raise RefusedError(
                f"this is what {source.repo}:{source.path} says (receipt {source.receipt}): an echo is no lesson",
                suggestion=_OWN,
            )


_OWN = "say in your own words what happened and what to check"


def alike(said: Said, files: Sequence[MemoryFile]) -> list[str]:
    """Return the paths of lessons that may be the one that is said, most alike first."""
    found = [(likeness(said, theirs), file.path) for file in files if same_lesson(said, theirs := said_in(file))]
    return [path for _, path in sorted(found, key=lambda each: (-each[0], each[1]))[:LOOKED_AT]]


def said_in(file: MemoryFile) -> Said:
    """Return what a lesson of the index says."""
    if not file.id:
        lesson = read_lesson(file.path, file.text.encode("utf-8", "surrogatepass"))
        return Said(lesson.title, lesson.check, lesson.body)
    check = file.metadata.get("check")
    return Said(file.title, check if isinstance(check, str) else "", _body(file.text))


def _body(text: str) -> str:
    """Return a text below its frontmatter and above the daemon's dated lines."""
    if text.startswith("---\n") and (end := text.find("\n---\n", 3)) > 0:
        text = text[end + 5 :]
    return text.rpartition("\n## Seen\n")[0] or text


def _with_sighting(path: str, content: bytes, at: datetime, agent: str) -> bytes | None:
    try:
        return seen_again(path, content, at, agent)
    except RefusedError:
        return None


def _refuse_secrets(lesson: LessonFile) -> None:
    text = "\n".join((lesson.text, lesson.trigger, *lesson.scope, *lesson.tags))
    for finding in secrets("the lesson", text):
        raise RefusedError(f"the lesson is not written: {finding.message}", suggestion="leave the secret out")
