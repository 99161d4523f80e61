"""Scan requests: a serving node asks the node that watches a repo to compare disk with index now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from recalld.bus import subjects, wire
from recalld.bus.connection import Connection
from recalld.bus.on_node import NodeServer, ask_node
from recalld.model import Repo

Scan = Callable[[str, wire.ReindexRequest], Awaitable[wire.ScanReport]]
"""Compares a repo, by name, with the index."""


class ScanServer(NodeServer[wire.ReindexRequest, wire.ScanReport]):
    """Answers the scan requests to one node."""

    def __init__(self, connection: Connection, node: str, scan: Scan) -> None:
        super().__init__(
            connection,
            "scan",
            subjects.scan(node),
            wire.ReindexRequest,
            lambda request: scan(request.repo or "", request),
        )


class ScanClient:
    """Has repos scanned by the nodes that watch them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def scan(self, repo: Repo, request: wire.ReindexRequest) -> wire.ScanReport:
        """Return the report of the watching node. Raises UnreachableError when that node is not there."""
        asked = request.model_copy(update={"repo": repo.name})
        return await ask_node(self._connection, repo, subjects.scan(repo.node), asked, wire.ScanReport)
