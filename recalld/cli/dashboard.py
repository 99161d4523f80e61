"""``recall dashboard``: the daemon in a terminal, or in a browser on this machine."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli.command import Invocation
from recalld.errors import ConfigError, RefusedError, UsageError

if TYPE_CHECKING:
    from recalld.bus.client import RecallClient

PORT = 8574
LOOPBACK = ("127.0.0.1", "localhost", "::1")

Serve = Annotated[bool, typer.Option("--serve", help="Show it in a browser on this machine instead.")]
Host = Annotated[str | None, typer.Option(metavar="HOST", help="Where, with --serve: 127.0.0.1, localhost or ::1.")]
Port = Annotated[int | None, typer.Option(metavar="PORT", min=1, max=65_535, help=f"With --serve, {PORT} by default.")]

EXAMPLES = """
recall dashboard
recall dashboard --serve
recall dashboard --serve --port 9000
"""


def dashboard(cli: Invocation, serve: Serve = False, host: Host = None, port: Port = None) -> int:
    """Look at the daemon and its memory, ask, and act: docs/dashboard.md has the keys.

    The daemon may be down or restart: it says so, and goes on when it is back. What takes something away asks first.
    With --serve whoever can open the address acts as you, so it is offered on this machine alone.
    """
    if find_spec("textual") is None or find_spec("textual_serve") is None:
        raise ConfigError("`recall dashboard` needs Textual", suggestion="pip install 'recalld[tui]'")
    if cli.as_json:
        raise UsageError("a dashboard is for people", suggestion="for programs: `recall stats --json`")
    if not serve and (host is not None or port is not None):
        raise UsageError("an address is for --serve", suggestion="recall dashboard --serve")
    if serve:
        return _serve(cli, host or LOOPBACK[0], port or PORT)
    from recalld.configuration import explain, load
    from recalld_tui.app import Dashboard
    from recalld_tui.link import Link

    settings, layers = load(cli.config, cli.flags())

    def find() -> RecallClient:
        from recalld.cli.connection import client_of

        return client_of(settings)

    Dashboard(Link(find), settings=lambda: explain(settings, layers)).run()
    return 0


def _serve(cli: Invocation, host: str, port: int) -> int:
    """Serve it until Ctrl-C. Raises RefusedError for an address that others can reach."""
    if host not in LOOPBACK:
        raise RefusedError(
            f"{host} can be reached by others, and whoever opens the dashboard acts as you",
            suggestion=f"serve on 127.0.0.1 and forward it: ssh -L {port}:127.0.0.1:{port} ...",
        )
    from recalld_tui.serving import serve

    given = (
        ("--config", cli.config), ("--state-dir", cli.state_dir), ("--server", cli.server), ("--agent", cli.agent),
    )  # fmt: skip
    serve([word for option, value in given if value is not None for word in (option, str(value))], host, port)
    return 0
