"""The connection to NATS: it comes back by itself, and its failures have names.

What nats-py leaves to its user and is done here: the first connect fails instead of trying for ever, a refused
permission fails the request that it belongs to, a reply that was lost with the connection is not waited for, and
closing neither hangs nor loses what was published.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import nats.errors
import nats.js.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from recalld.bus.failures import START, ConnectionLostError, naming_errors, not_permitted
from recalld.bus.sturdy import SturdyClient
from recalld.errors import ConfigError, DependencyError, RecalldError, TooLargeError
from recalld.settings import BusSettings

log = logging.getLogger(__name__)

CONNECT_PATIENCE_S = 10.0
RECONNECT_WAIT_S = 0.25
PING_INTERVAL_S = 20
DRAIN_TIMEOUT_S = 5
HEADER_FRAME_BYTES = 14
"""The version line and the empty line around a message's headers."""
DAEMON_INBOX = "_INBOX.recalld"
"""Where daemons take replies; an agent's own inbox is ``_INBOX.<agent>``."""

OnMessage = Callable[[Msg], Awaitable[None]]
OnState = Callable[[str], None]
"""Told ``connected``, ``reconnecting`` and ``closed``."""

_DENIED = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]+)\"")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the servers are and who is connecting."""

    servers: tuple[str, ...]
    user: str | None = None
    password: str | None = None
    credentials_file: Path | None = None

    @classmethod
    def of(cls, settings: BusSettings) -> Address:
        """Return the address that the settings mean."""
        password = settings.password.get_secret_value() if settings.password else None
        return cls(tuple(settings.servers), settings.user, password, settings.credentials_file)

    def __str__(self) -> str:
        return ", ".join(_without_secret(server) for server in self.servers)


class _Waiter:
    """A request under way, which an event of the connection can end."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.scope = anyio.CancelScope()
        self.failure: RecalldError | None = None

    def fail(self, failure: RecalldError) -> None:
        self.failure = failure
        self.scope.cancel()


class Connection:
    """One connection, shared by all parts of a process. Made by :func:`connect`.

    ``session`` counts the times that a connection was made: what a server was asked to send in an earlier session
    will not come any more. ``listeners`` are called after each reconnect; they must not block or raise.
    """

    def __init__(self, client: SturdyClient, address: Address, on_state: OnState | None) -> None:
        self.client = client
        self.jetstream = client.jetstream(timeout=10)
        self.address = address
        self.replicas = 1
        self.session = 0
        self.listeners: set[Callable[[], None]] = set()
        self._on_state = on_state or (lambda state: None)
        self._waiters: set[_Waiter] = set()
        self._refused_subscriptions: set[str] = set()
        self._lost = anyio.Event()
        self._closing = False
        self._quiet = False

    @property
    def is_up(self) -> bool:
        """Tell whether there is a server to talk to right now."""
        return bool(self.client.is_connected)

    @property
    def max_payload(self) -> int:
        """Return the largest message that the server takes, headers included (bytes)."""
        return int(self.client.max_payload)

    def require_up(self) -> None:
        """Raise DependencyError while there is no server: nats-py would buffer, and pretend."""
        if not self.is_up:
            raise DependencyError(f"no connection to NATS at {self.address}", suggestion=START)

    async def lost(self) -> None:
        """Return once the connection is closed for good though nobody asked for it."""
        await self._lost.wait()

    async def publish(
        self, subject: str, payload: bytes = b"", *, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a message; nobody says whether it arrives. Raises DependencyError, TooLargeError."""
        self.require_up()
        self._require_fitting(subject, payload, headers)
        with naming_errors(f"publishing {subject}"):
            await self.client.publish(subject, payload, reply=reply, headers=dict(headers) if headers else None)

    async def request(
        self, subject: str, payload: bytes, *, timeout: float, headers: Mapping[str, str] | None = None
    ) -> Msg:
        """Send a request and return its reply.

        Raises UnreachableError (nobody listens), RefusedError (not permitted), ConnectionLostError, DependencyError
        (no connection), TooLargeError, and TimeoutError after ``timeout`` seconds.
        """
        self._require_fitting(subject, payload, headers)
        with self.guarded(f"asking {subject}", subject=subject, timeouts=False):
            return await self.client.request(
                subject, payload, timeout=timeout, headers=dict(headers) if headers else None
            )

    @contextmanager
    def guarded(self, doing: str, *, subject: str = "", timeouts: bool = True) -> Iterator[None]:
        """Name the errors of what is done with nats-py inside, and end it when the connection breaks meanwhile.

        nats-py itself would wait for a reply that cannot come any more. ``subject`` is published to inside: a refused
        permission ends it, too. Raises as :func:`naming_errors`, ConnectionLostError, RefusedError, and DependencyError
        while there is no connection.
        """
        self.require_up()
        waiter = _Waiter(subject)
        self._waiters.add(waiter)
        try:
            with waiter.scope, naming_errors(doing, timeouts=timeouts):
                yield
        finally:
            self._waiters.discard(waiter)
        if waiter.failure is not None:
            raise waiter.failure

    def _require_fitting(self, subject: str, payload: bytes, headers: Mapping[str, str] | None) -> None:
        """Raise TooLargeError for a message that the server would close the connection for, headers included."""
        size = len(payload) + sum(len(name.encode()) + len(text.encode()) + 4 for name, text in (headers or {}).items())
        if size + (HEADER_FRAME_BYTES if headers else 0) > self.max_payload:
            raise TooLargeError(
                f"a message of {size} bytes is larger than the {self.max_payload} that NATS takes ({subject})",
                suggestion="raise max_payload of the NATS server",
            )

    async def subscribe(self, subject: str, on_message: OnMessage, *, queue: str = "") -> Subscription:
        """Have ``on_message`` called for each message, one at a time, and return once the server knows.

        Raises RefusedError when the server does not permit it.
        """
        self._refused_subscriptions.discard(subject.lower())
        with self.guarded(f"subscribing to {subject}"):
            subscription = await self.client.subscribe(subject, queue=queue, cb=on_message)
            try:
                await self.client.flush()
                if subject.lower() in self._refused_subscriptions:
                    raise not_permitted("subscribe to", subject)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await subscription.unsubscribe()
                raise
        return subscription

    async def flush(self) -> None:
        """Return once the server has seen all that was sent before. Raises DependencyError."""
        with self.guarded("waiting for the server"):
            await self.client.flush()

    async def drain(self, subscription: Subscription) -> None:
        """End a subscription after the last message that the server sent for it was handled."""
        with anyio.CancelScope(shield=True):
            try:
                with self.guarded(f"ending {subscription.subject}"), anyio.move_on_after(DRAIN_TIMEOUT_S):
                    await self.client.end(subscription)
                await subscription.unsubscribe()
            except (RecalldError, nats.errors.Error) as error:
                log.debug("subscription %s ended with its connection: %s", subscription.subject, error)

    async def aclose(self) -> None:
        """Send what is left, then close; at most a few seconds. Pull subscriptions must be ended by then."""
        self._closing = True
        with anyio.CancelScope(shield=True):
            try:
                if self.is_up:
                    await self.client.drain()
            except (nats.errors.Error, OSError) as error:
                log.debug("closing without draining: %s", error)
            finally:
                await self.client.close()

    async def on_disconnected(self) -> None:
        """Take note that the connection broke: called by nats-py."""
        if self._closing or self.client.is_closed:
            return
        log.warning("lost the connection to NATS at %s, reconnecting", self.address)
        self._on_state("reconnecting")
        for waiter in tuple(self._waiters):
            waiter.fail(ConnectionLostError("the connection to NATS was lost while waiting for a reply"))

    async def on_reconnected(self) -> None:
        """Take note that there is a server again: called by nats-py."""
        self.session += 1
        self._quiet = False
        log.info("connected to NATS again")
        self._on_state("connected")
        for listener in tuple(self.listeners):
            listener()

    async def on_closed(self) -> None:
        """Take note of the end, wanted or not: called by nats-py."""
        self._on_state("closed")
        if not self._closing:
            log.error("NATS closed the connection for good: %s", self.client.last_error)
            self._lost.set()
        for waiter in tuple(self._waiters):
            waiter.fail(ConnectionLostError("the connection to NATS was closed"))

    async def on_error(self, error: Exception) -> None:
        """Give an error that nats-py met in the background to whom it belongs, else log it."""
        denied = _DENIED.search(str(error).lower())  # nats-py gives them in lower case, subject and all
        if denied is None:
            self._log(error)
        elif denied[1] == "subscription":
            self._refused_subscriptions.add(denied[2])
        else:
            concerned = [waiter for waiter in self._waiters if waiter.subject.lower() == denied[2]]
            for waiter in concerned:
                waiter.fail(not_permitted("publish to", waiter.subject))
            if not concerned:
                log.error("NATS refused a message: %s", error)

    def _log(self, error: Exception) -> None:
        if self.is_up:
            log.warning("NATS: %s", error or type(error).__name__)
        elif not self._quiet and not self._closing:
            self._quiet = True
            log.warning("no connection to NATS at %s: %s", self.address, error or type(error).__name__)


async def connect(
    settings: BusSettings, *, name: str, on_state: OnState | None = None, patience_s: float = CONNECT_PATIENCE_S
) -> Connection:
    """Connect a daemon. Raises ConfigError (refused), DependencyError (nobody there for ``patience_s`` seconds)."""
    connection = await open_connection(
        Address.of(settings), name=name, inbox=DAEMON_INBOX, on_state=on_state, patience_s=patience_s
    )
    connection.replicas = settings.replicas
    return connection


async def open_connection(
    address: Address, *, name: str, inbox: str, on_state: OnState | None = None, patience_s: float = 0.0
) -> Connection:
    """Connect to the first server that answers; reconnects are for ever. Raises ConfigError, DependencyError.

    ``inbox`` is the prefix of the subjects that replies come on. Every server is tried once at least, and again
    until ``patience_s`` seconds have passed.
    """
    if not address.servers:
        raise ConfigError("bus.servers names no server", suggestion="set it to nats://host:4222")
    client = SturdyClient()
    connection = Connection(client, address, on_state)
    attempt = _Attempt(connection, len(address.servers), anyio.current_time() + patience_s)
    try:
        with attempt.scope, naming_errors("connecting"):
            await client.connect(
                servers=list(address.servers),
                name=name,
                user=address.user,
                password=address.password,
                user_credentials=address.credentials_file,
                inbox_prefix=inbox,
                connect_timeout=2,
                max_reconnect_attempts=-1,
                reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]
                ping_interval=PING_INTERVAL_S,
                drain_timeout=DRAIN_TIMEOUT_S,
                error_cb=attempt.on_error,
                disconnected_cb=connection.on_disconnected,
                reconnected_cb=connection.on_reconnected,
                closed_cb=connection.on_closed,
            )
    except BaseException:
        connection._closing = True
        with anyio.CancelScope(shield=True):
            await client.close()
        raise
    if attempt.failure is not None:
        connection._closing = True
        with anyio.CancelScope(shield=True):
            await client.close()
        raise attempt.failure
    connection.session = 1
    connection._on_state("connected")
    attempt.over = True
    return connection


class _Attempt:
    """The first connect, which nats-py would go on trying for ever."""

    def __init__(self, connection: Connection, servers: int, until: float) -> None:
        self.scope = anyio.CancelScope()
        self.failure: RecalldError | None = None
        self.over = False
        self._connection = connection
        self._left = servers
        self._until = until

    async def on_error(self, error: Exception) -> None:
        if self.over:
            await self._connection.on_error(error)
            return
        self._left -= 1
        if "authorization" in str(error).lower():
            self._give_up(
                ConfigError(
                    f"NATS at {self._connection.address} refuses the user or password",
                    suggestion="check bus.user and bus.password, or bus.credentials_file",
                )
            )
        elif self._left <= 0 and anyio.current_time() >= self._until:
            self._give_up(
                DependencyError(
                    f"no NATS server at {self._connection.address}: {error or type(error).__name__}", suggestion=START
                )
            )

    def _give_up(self, failure: RecalldError) -> None:
        self.failure = failure
        self.scope.cancel()


def _without_secret(server: str) -> str:
    parts = urlsplit(server)
    if parts.username is None:
        return server
    place = parts.hostname or ""
    return f"{parts.scheme}://{place}:{parts.port}" if parts.port else f"{parts.scheme}://{place}"
