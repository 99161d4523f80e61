"""Files of ours: a serving node has the node that watches a repo make a new file in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from recalld.bus import internal, subjects
from recalld.bus.connection import Connection
from recalld.bus.on_node import NodeServer, ask_node
from recalld.model import Repo

Create = Callable[[internal.CreateRequest], Awaitable[internal.CreateReply]]
"""Makes a new file in a repo."""


class FileServer(NodeServer[internal.CreateRequest, internal.CreateReply]):
    """Makes files in the repos of one node."""

    def __init__(self, connection: Connection, node: str, create: Create) -> None:
        super().__init__(connection, "create", subjects.create(node), internal.CreateRequest, create)


class FileClient:
    """Has files made by the nodes that have the disk."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, repo: Repo, path: str, text: str) -> None:
        """Make a new file. Raises RefusedError where there is one already or none may be made, UnreachableError."""
        request = internal.CreateRequest(repo=repo.name, path=path, text=text)
        await ask_node(self._connection, repo, subjects.create(repo.node), request, internal.CreateReply)
