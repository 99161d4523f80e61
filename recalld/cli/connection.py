"""From options and settings to a client of the daemon that they mean."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from recalld.bus.client import RecallClient
from recalld.cli.command import Invocation
from recalld.configuration import load
from recalld.embedded.state import read_client_credentials
from recalld.errors import UnreachableError
from recalld.settings import Settings


@asynccontextmanager
async def client_for(cli: Invocation) -> AsyncIterator[RecallClient]:
    """Connect to the named server, else to that of the settings, else to the daemon of the state directory.

    Raises ConfigError for bad settings, UnreachableError when there is nobody to connect to.
    """
    settings, _ = load(cli.config, cli.flags())
    async with client_of(settings) as client:
        yield client


def client_of(settings: Settings) -> RecallClient:
    """Return the client, not yet connected. Raises UnreachableError when no daemon has left its credentials."""
    bus = settings.bus
    if bus.servers:
        return RecallClient(
            bus.servers[0],
            user=bus.user,
            password=bus.password.get_secret_value() if bus.password else None,
            credentials_file=bus.credentials_file,
            agent=bus.agent,
        )
    found = read_client_credentials(settings.node.state_dir)
    if found is None:
        raise UnreachableError(
            f"no daemon is running on {settings.node.state_dir}",
            suggestion="start one with `recalld run`, or name another with --state-dir or --server",
        )
    return RecallClient(found.url, user=found.user, password=found.password, agent=bus.agent)
