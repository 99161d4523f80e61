"""``recall mcp``: the memory for agents that speak the Model Context Protocol."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from recalld.configuration import Layer
    from recalld.settings import Settings
    from recalld_plugins.mcp.guard import Address
    from recalld_plugins.mcp.link import Found, Link
    from recalld_plugins.mcp.token import Token

AGENT = "mcp"
"""Who asks, unless a setting says."""

Http = Annotated[bool, typer.Option("--http", help="Serve over streamable HTTP instead of stdin and stdout.")]
Listen = Annotated[
    str | None,
    typer.Argument(metavar="HOST:PORT", help="Where, with --http: 127.0.0.1:8573 by default.", show_default=False),
]

EXAMPLES = """
recall mcp
recall mcp --agent reviewer
recall mcp --http
recall mcp --http 127.0.0.1:9000
"""


async def mcp(cli: Invocation, listen: Listen = None, http: Http = False) -> int:
    """Offer the memory to an agent that speaks MCP. It is started by the agent's program: docs/mcp.md has the entries.

    The daemon may be down or restart: tools say so, and work again when it is back. Over HTTP a client shows the
    token mcp.token; where none is set, one is made and kept in the state directory, for this machine alone.
    """
    if find_spec("mcp") is None:
        raise ConfigError("`recall mcp` needs the MCP SDK", suggestion="pip install 'recalld[mcp]'")
    if listen is not None and not http:
        raise UsageError("an address is for --http", suggestion=f"recall mcp --http {output.quoted(listen)}")
    from recalld import logs
    from recalld.configuration import load
    from recalld_plugins.mcp.guard import Address
    from recalld_plugins.mcp.link import Link

    settings, layers = load(cli.config, cli.flags())
    address = Address.read(listen) if listen is not None else Address()
    logs.configure(
        "warning" if settings.node.log_level == "info" else settings.node.log_level, settings.node.log_format
    )
    link = Link(_finder(_named(settings, layers)))
    if http:
        await _serve_http(cli, settings, link, address)
    else:
        from recalld_plugins.mcp.serving import serve_stdio

        await serve_stdio(link, settings.mcp.max_tokens)
    return 0


async def _serve_http(cli: Invocation, settings: Settings, link: Link, address: Address) -> None:
    from recalld_plugins.mcp.serving import serve_http
    from recalld_plugins.mcp.token import token_of

    token = token_of(settings, made=address.loopback)

    def listening(url: str) -> None:
        _announce(url, token, cli)

    await serve_http(link, settings.mcp.max_tokens, address, token.value, settings.mcp.hosts, listening)


def _announce(url: str, token: Token, cli: Invocation) -> None:
    if cli.as_json:
        typer.echo(json.dumps({"url": url, "token_file": str(token.file) if token.file else None}))
    else:
        where = f"its token is in {token.file}" if token.file else "its token is that of mcp.token"
        output.say(f"MCP at {url}; {where}")


def _named(settings: Settings, layers: list[Layer]) -> Settings:
    """Return the settings with this client's own name where none is set."""
    if any("agent" in layer.values.get("bus", {}) for layer in layers):
        return settings
    return settings.model_copy(update={"bus": settings.bus.model_copy(update={"agent": AGENT})})


def _finder(settings: Settings) -> Callable[[], Found]:
    """Return what looks where the daemon is now: an embedded one may have moved since."""
    from recalld.cli.connection import client_of
    from recalld.embedded.state import read_client_credentials
    from recalld_plugins.mcp.link import Found

    def find() -> Found:
        client = client_of(settings)
        embedded = None if settings.bus.servers else read_client_credentials(settings.node.state_dir)
        if embedded is None:
            return Found("", settings.node.name, client)
        return Found(embedded.url, embedded.node, client)

    return find
