"""What every role stands on: the state directory, the embedded servers, the bus and the store."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import anyio

from recalld.bus import streams
from recalld.bus.connection import Connection, connect
from recalld.bus.events import EventPublisher
from recalld.embedded.nats import EmbeddedNats
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.embedded.server import EmbeddedServer
from recalld.embedded.state import (
    ClientCredentials,
    StateDirectory,
    clear_client_credentials,
    write_client_credentials,
)
from recalld.settings import BusSettings, Settings, StoreSettings
from recalld.store import Store
from recalld.store.migrate import migrate

log = logging.getLogger(__name__)


def now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Foundation:
    """The open parts that roles share; ``store`` is None for roles that need no database."""

    bus: BusSettings
    connection: Connection
    events: EventPublisher
    store: Store | None
    servers: tuple[EmbeddedServer, ...]

    async def supervise(self) -> None:
        """Bring the embedded servers back when they end. Raises DependencyError when one cannot be kept up."""
        async with anyio.create_task_group() as group:
            for server in self.servers:
                group.start_soon(server.supervise)


def needs_store(settings: Settings) -> bool:
    """Tell whether a role of this node reads or writes the database."""
    return bool({"index", "serve"} & set(settings.node.roles))


@asynccontextmanager
async def lay(settings: Settings, tell: Callable[[str], None]) -> AsyncIterator[Foundation]:
    """Open everything, in order; close it in the opposite one. ``tell`` is told what is being waited for.

    Raises StateHeldError, SchemaError, ConfigError, or DependencyError when a server cannot be reached.
    """
    async with AsyncExitStack() as stack:
        state = stack.enter_context(StateDirectory.acquire(settings.node.state_dir))
        servers: list[EmbeddedServer] = []
        store = None
        if needs_store(settings):
            dsn = await _dsn(settings.store, state, servers, stack, tell)
            for name in await migrate(dsn):
                log.info("applied migration %s", name)
            store = await _open_store(dsn, settings.store, stack)
        bus = await _bus(settings, state, servers, stack, tell)
        connection = await connect(bus, name=f"recalld {settings.node.name}")
        stack.push_async_callback(connection.aclose)
        await streams.ensure(connection, replicas=bus.replicas)
        events = EventPublisher(connection, settings.node.name, now)
        yield Foundation(bus, connection, events, store, tuple(servers))


async def _dsn(
    settings: StoreSettings,
    state: StateDirectory,
    servers: list[EmbeddedServer],
    stack: AsyncExitStack,
    tell: Callable[[str], None],
) -> str:
    if settings.dsn is not None:
        return settings.dsn.get_secret_value()
    tell("starting Postgres")
    postgres = await stack.enter_async_context(await EmbeddedPostgres.start(state.path))
    servers.append(postgres)
    return postgres.dsn


async def _open_store(dsn: str, settings: StoreSettings, stack: AsyncExitStack) -> Store:
    store = await Store.open(
        dsn,
        read_dsn=settings.read_dsn.get_secret_value() if settings.read_dsn else None,
        pool_size=settings.pool_size,
        statement_timeout_s=settings.statement_timeout_s,
    )
    stack.push_async_callback(store.aclose)
    return store


async def _bus(
    settings: Settings,
    state: StateDirectory,
    servers: list[EmbeddedServer],
    stack: AsyncExitStack,
    tell: Callable[[str], None],
) -> BusSettings:
    """Return how to reach the bus; an embedded server's address is left for this user's clients."""
    if settings.bus.servers:
        return settings.bus
    tell("starting NATS")
    nats = await stack.enter_async_context(await EmbeddedNats.start(state.path))
    servers.append(nats)
    stack.callback(clear_client_credentials, state.path)
    write_client_credentials(state.path, ClientCredentials.of_process(nats.url, settings.node.name))
    return settings.bus.model_copy(update={"servers": (nats.url,)})
