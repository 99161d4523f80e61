"""Files of ours: a serving node has the node that watches a repo make, change, move and read files in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import anyio
from anyio.abc import TaskStatus

from recalld.bus import internal, subjects
from recalld.bus.connection import Connection
from recalld.bus.content import ContentStore
from recalld.bus.on_node import NodeServer, ask_node
from recalld.model import Repo
from recalld.watch.changing import READ_BYTES, Change, Create, Move, Remove, Replace


class Disk(Protocol):
    """Makes, changes and reads files in repos of this node."""

    async def create(self, request: internal.CreateRequest) -> internal.CreateReply: ...
    async def change(self, request: internal.ChangeRequest) -> internal.ChangeReply: ...
    async def read(self, request: internal.ReadRequest) -> internal.ReadReply: ...
    async def hashes(self, request: internal.HashesRequest) -> internal.HashesReply: ...


class FileServer:
    """Answers what is asked of the files in the repos of one node."""

    def __init__(self, connection: Connection, node: str, disk: Disk) -> None:
        self._disk = disk
        self._content = ContentStore(connection)
        self._create = NodeServer(connection, "create", subjects.create(node), internal.CreateRequest, disk.create)
        self._change = NodeServer(connection, "change", subjects.change(node), internal.ChangeRequest, self._changed)
        self._read = NodeServer(connection, "read", subjects.read(node), internal.ReadRequest, self._found)
        self._hashes = NodeServer(connection, "hashes", subjects.hashes(node), internal.HashesRequest, disk.hashes)

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer until ``stop`` is set."""
        async with anyio.create_task_group() as group:
            await group.start(self._create.run, stop)
            await group.start(self._change.run, stop)
            await group.start(self._read.run, stop)
            await group.start(self._hashes.run, stop)
            task_status.started()

    async def _changed(self, request: internal.ChangeRequest) -> internal.ChangeReply:
        """Have changes made whose content may stand in the object store."""
        changes = [
            each.model_copy(update={"content": await self._content.get(each.object)}) if each.object else each
            for each in request.changes
        ]
        return await self._disk.change(request.model_copy(update={"changes": tuple(changes)}))

    async def _found(self, request: internal.ReadRequest) -> internal.ReadReply:
        """Have files read; put into the object store what is too big for a message."""
        reply = await self._disk.read(request)
        large = {path: content for path, content in reply.files.items() if len(content) > READ_BYTES}
        objects = {path: await self._content.put(content) for path, content in large.items()}
        small = {path: content for path, content in reply.files.items() if path not in large}
        return reply.model_copy(update={"files": small, "objects": objects})


class FileClient:
    """Has files made, changed, moved and read by the nodes that have the disk."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._content = ContentStore(connection)

    async def create(self, repo: Repo, path: str, text: str) -> None:
        """Make a new file. Raises RefusedError where there is one already or none may be made, UnreachableError."""
        request = internal.CreateRequest(repo=repo.name, path=path, text=text)
        await ask_node(self._connection, repo, subjects.create(repo.node), request, internal.CreateReply)

    async def change(self, repo: Repo, changes: Sequence[Change]) -> None:
        """Make changes, all or none. Raises RefusedError where something is in the way, UnreachableError."""
        stored: list[str] = []
        try:
            wired = tuple([await self._stored(each, stored) for each in map(_wired, changes)])
            request = internal.ChangeRequest(repo=repo.name, changes=wired)
            await ask_node(self._connection, repo, subjects.change(repo.node), request, internal.ChangeReply)
        finally:
            with anyio.CancelScope(shield=True):
                for name in stored:
                    await self._content.delete(name)

    async def read(self, repo: Repo, paths: Sequence[str], *, large: bool = False) -> dict[str, bytes]:
        """Return the content of those of the files that are there and plain. Raises UnreachableError.

        Files of more than 512 KiB are left out unless ``large`` ones are wanted.
        """
        found: dict[str, bytes] = {}
        left = list(paths)
        while left:
            request = internal.ReadRequest(repo=repo.name, paths=tuple(left[:500]), large=large)
            reply = await ask_node(self._connection, repo, subjects.read(repo.node), request, internal.ReadReply)
            found |= reply.files
            for path, name in reply.objects.items():
                found[path] = await self._content.get(name)
                await self._content.delete(name)
            left = left[max(reply.read, 1) :]
        return found

    async def hashes(self, repo: Repo, paths: Sequence[str]) -> dict[str, str]:
        """Return the sha256 of those of the files that are there and plain. Raises UnreachableError."""
        request = internal.HashesRequest(repo=repo.name, paths=tuple(paths))
        reply = await ask_node(self._connection, repo, subjects.hashes(repo.node), request, internal.HashesReply)
        return reply.hashes

    async def _stored(self, each: internal.FileChange, stored: list[str]) -> internal.FileChange:
        """Return a change whose content can travel; note in ``stored`` what has to be deleted afterwards."""
        if len(each.content) <= READ_BYTES:
            return each
        name = await self._content.put(each.content)
        stored.append(name)
        return each.model_copy(update={"content": b"", "object": name})


def _wired(each: Change) -> internal.FileChange:
    match each:
        case Create(path, content):
            return _change("create", path, content=content)
        case Replace(path, expected, content):
            return _change("replace", path, expected=expected, content=content)
        case Remove(path, expected):
            return _change("remove", path, expected=expected)
        case Move(path, to, expected):
            return _change("move", path, to=to, expected=expected)


def _change(
    action: Literal["create", "replace", "move", "remove"],
    path: str,
    *,
    to: str = "",
    expected: str = "",
    content: bytes = b"",
) -> internal.FileChange:
    """Return a change as the bus has it; content that is too long for a message is put elsewhere before it travels."""
    made = internal.FileChange(action=action, path=path, to=to, expected=expected)
    return made.model_copy(update={"content": content})
