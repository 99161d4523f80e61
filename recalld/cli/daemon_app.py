"""The app ``recalld``: run the daemon and look after it."""

from __future__ import annotations

from typing import Annotated

import typer

from recalld.cli.command import Invocation, application, command

app = application("recalld gives AI agents a memory they can trust. This command runs the daemon and looks after it.")

Roles = Annotated[
    str | None,
    typer.Option(metavar="R,...", help="What this daemon does, of watch, index, serve, schedule (default: all)."),
]


@command(
    app,
    examples="""
    recalld run
    recalld run --config /etc/recalld/recalld.toml --roles watch,index
    """,
)
def run(cli: Invocation, roles: Roles = None) -> int:
    """Run the daemon in the foreground until SIGTERM or Ctrl-C.

    With no settings it brings its own Postgres and NATS server, on this machine only.
    """
    from recalld import daemon

    flags = cli.flags()
    if roles is not None:
        flags.setdefault("node", {})["roles"] = roles
    return daemon.main(cli.config, flags)
