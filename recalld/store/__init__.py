"""The index in Postgres: the only part that speaks SQL."""

from __future__ import annotations

from typing import Self

from recalld.store.cache import EmbeddingCache
from recalld.store.calibrations import Calibrations
from recalld.store.chunks import Chunks
from recalld.store.database import Database
from recalld.store.documents import Documents
from recalld.store.episodes import Episodes
from recalld.store.findings import Findings
from recalld.store.generations import Generations
from recalld.store.guides import Guides
from recalld.store.integrity import Integrity
from recalld.store.jobs import Jobs
from recalld.store.lessons import Lessons
from recalld.store.lexical import Lexical
from recalld.store.puts import Puts
from recalld.store.receipts import Receipts
from recalld.store.repos import Repos
from recalld.store.rows import DocumentWrite, Outcome, StoredDocument
from recalld.store.sessions import Sessions
from recalld.store.spending import Spending
from recalld.store.standings import Standings
from recalld.store.stats import Stats
from recalld.store.usage import Usage
from recalld.store.vectors import Vectors

__all__ = ["DocumentWrite", "Outcome", "Store", "StoredDocument"]


class Store:
    """All tables behind one pool of connections. Open with :meth:`open`; its methods raise DependencyError."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.repos = Repos(database)
        self.documents = Documents(database)
        self.generations = Generations(database)
        self.lexical = Lexical(database)
        self.vectors = Vectors(database)
        self.chunks = Chunks(database)
        self.findings = Findings(database)
        self.guides = Guides(database)
        self.cache = EmbeddingCache(database)
        self.receipts = Receipts(database)
        self.standings = Standings(database)
        self.stats = Stats(database)
        self.calibrations = Calibrations(database)
        self.jobs = Jobs(database)
        self.integrity = Integrity(database)
        self.lessons = Lessons(database)
        self.usage = Usage(database)
        self.episodes = Episodes(database)
        self.sessions = Sessions(database)
        self.spending = Spending(database)
        self.puts = Puts(database)

    @classmethod
    async def open(
        cls, dsn: str, *, read_dsn: str | None = None, pool_size: int = 8, statement_timeout_s: float = 30.0
    ) -> Self:
        """Connect to a migrated database. Raises DependencyError when it cannot be reached."""
        return cls(await Database.open(dsn, read_dsn, pool_size, statement_timeout_s))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._database.aclose()

    async def flush(self) -> None:
        """Wait until everything that was written so far would survive a crash of the server."""
        await self._database.flush()

    async def ping(self) -> None:
        """Ask the database something. Raises DependencyError when it does not answer."""
        await self._database.ping()
