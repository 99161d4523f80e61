"""Files of ours: a serving node has the node that watches a repo make, change, move and read files in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import anyio
from anyio.abc import TaskStatus

from recalld.bus import internal, subjects
from recalld.bus.connection import Connection
from recalld.bus.on_node import NodeServer, ask_node
from recalld.model import Repo
from recalld.watch.changing import Change, Create, Move, Replace


class Disk(Protocol):
    """Makes, changes and reads files in repos of this node."""

    async def create(self, request: internal.CreateRequest) -> internal.CreateReply: ...
    async def change(self, request: internal.ChangeRequest) -> internal.ChangeReply: ...
    async def read(self, request: internal.ReadRequest) -> internal.ReadReply: ...
    async def hashes(self, request: internal.HashesRequest) -> internal.HashesReply: ...


class FileServer:
    """Answers what is asked of the files in the repos of one node."""

    def __init__(self, connection: Connection, node: str, disk: Disk) -> None:
        self._create = NodeServer(connection, "create", subjects.create(node), internal.CreateRequest, disk.create)
        self._change = NodeServer(connection, "change", subjects.change(node), internal.ChangeRequest, disk.change)
        self._read = NodeServer(connection, "read", subjects.read(node), internal.ReadRequest, disk.read)
        self._hashes = NodeServer(connection, "hashes", subjects.hashes(node), internal.HashesRequest, disk.hashes)

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer until ``stop`` is set."""
        async with anyio.create_task_group() as group:
            await group.start(self._create.run, stop)
            await group.start(self._change.run, stop)
            await group.start(self._read.run, stop)
            await group.start(self._hashes.run, stop)
            task_status.started()


class FileClient:
    """Has files made, changed, moved and read by the nodes that have the disk."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, repo: Repo, path: str, text: str) -> None:
        """Make a new file. Raises RefusedError where there is one already or none may be made, UnreachableError."""
        request = internal.CreateRequest(repo=repo.name, path=path, text=text)
        await ask_node(self._connection, repo, subjects.create(repo.node), request, internal.CreateReply)

    async def change(self, repo: Repo, changes: Sequence[Change]) -> None:
        """Make changes, all or none. Raises RefusedError where something is in the way, UnreachableError."""
        request = internal.ChangeRequest(repo=repo.name, changes=tuple(map(_wired, changes)))
        await ask_node(self._connection, repo, subjects.change(repo.node), request, internal.ChangeReply)

    async def read(self, repo: Repo, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the content of those of the files that are there and plain. Raises UnreachableError."""
        found: dict[str, bytes] = {}
        left = list(paths)
        while left:
            request = internal.ReadRequest(repo=repo.name, paths=tuple(left[:500]))
            reply = await ask_node(self._connection, repo, subjects.read(repo.node), request, internal.ReadReply)
            found |= reply.files
            left = left[max(reply.read, 1) :]
        return found

    async def hashes(self, repo: Repo, paths: Sequence[str]) -> dict[str, str]:
        """Return the sha256 of those of the files that are there and plain. Raises UnreachableError."""
        request = internal.HashesRequest(repo=repo.name, paths=tuple(paths))
        reply = await ask_node(self._connection, repo, subjects.hashes(repo.node), request, internal.HashesReply)
        return reply.hashes


def _wired(each: Change) -> internal.FileChange:
    match each:
        case Create(path, content):
            return internal.FileChange(action="create", path=path, content=content)
        case Replace(path, expected, content):
            return internal.FileChange(action="replace", path=path, expected=expected, content=content)
        case Move(path, to, expected):
            return internal.FileChange(action="move", path=path, to=to, expected=expected)
