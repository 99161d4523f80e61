"""``recalld run | status | reload``: the daemon's process."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import RefusedError, UnreachableError, UsageError

if TYPE_CHECKING:
    from recalld.embedded.state import Holder

Roles = Annotated[
    str | None,
    typer.Option(metavar="R,...", help="What this daemon does, of watch, index, serve, schedule (default: all)."),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as `embed.model=hashing`; may be repeated."),
]

_KEY = re.compile(r"[a-z_]+\.[a-z_]+|repos")
"""A setting as `recalld config show` names it."""

RUN_EXAMPLES = """
recalld run
recalld run --config /etc/recalld/recalld.toml --roles watch,index
recalld run --set embed.runtime=onnx --set node.log_level=debug
"""
STATUS_EXAMPLES = "recalld status --json"
RELOAD_EXAMPLES = "recalld reload"


def run(cli: Invocation, roles: Roles = None, assignments: Assignments = None) -> int:
    """Run the daemon in the foreground until SIGTERM or Ctrl-C.

    With no settings it brings its own Postgres and NATS server, reachable on this machine only. --json is for its log.
    """
    flags = flags_of(cli, assignments, roles)
    if cli.as_json:
        flags.setdefault("node", {})["log_format"] = "json"
    # To be set before numpy is loaded: its threads keep spinning for 25 ms after each product, while the next query's
    # embedding needs their cores. Measured: a search took 8.5 times as long as embedding its query, 3.8 times without.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from recalld import daemon

    return daemon.main(cli.config, flags)


async def status(cli: Invocation) -> int:
    """Say whether the daemon runs, how it fares and what it holds. Exit status 3 when it does not run."""
    from recalld.cli.connection import client_of
    from recalld.cli.status import show_health, show_stats
    from recalld.configuration import load

    settings, _ = load(cli.config, cli.flags())
    holder = None if settings.bus.servers else _holder(settings.node.state_dir)
    async with client_of(settings) as client:
        health = await client.health()
        stats = await client.stats(findings=5)
    if cli.as_json:
        body: dict[str, Any] = {"pid": holder.pid if holder else None, "since": holder.since if holder else None}
        body |= {"health": health.model_dump(mode="json"), "stats": stats.model_dump(mode="json")}
        typer.echo(json.dumps(body))
        return 0
    console = output.console()
    if holder is not None:
        console.print(f"pid {holder.pid}, state in {output.plain(str(settings.node.state_dir))}")
    show_health(health, console)
    show_stats(stats, console)
    return 0


def reload(cli: Invocation) -> int:
    """Have the running daemon read its settings again (SIGHUP). Its log says what needs a restart."""
    from recalld.configuration import load

    settings, _ = load(cli.config, cli.flags())
    holder = _holder(settings.node.state_dir)
    try:
        os.kill(holder.pid, signal.SIGHUP)
    except ProcessLookupError:
        raise UnreachableError(f"the daemon (pid {holder.pid}) has just ended") from None
    except PermissionError:
        raise RefusedError(
            f"the daemon (pid {holder.pid}) belongs to another user", suggestion="run this as that user"
        ) from None
    if cli.as_json:
        typer.echo(json.dumps({"pid": holder.pid, "signal": "SIGHUP"}))
    else:
        output.say(f"told the daemon (pid {holder.pid}) to reload; its log says what it took up")
    return 0


def flags_of(cli: Invocation, assignments: list[str] | None, roles: str | None = None) -> dict[str, Any]:
    """Return what was given on the command line, nested as the settings are. Raises UsageError."""
    flags: dict[str, Any] = {}
    for key, value in pairs(assignments).items():
        *sections, name = key.split(".")
        target = flags
        for section in sections:
            target = target.setdefault(section, {})
        target[name] = value
    for section, values in cli.flags().items():
        flags.setdefault(section, {}).update(values)
    if roles is not None:
        flags.setdefault("node", {})["roles"] = roles
    return flags


def pairs(assignments: list[str] | None) -> dict[str, str]:
    """Return the values of --set by their dotted keys. Raises UsageError for what is not KEY=VALUE."""
    found: dict[str, str] = {}
    for assignment in assignments or ():
        key, equals, value = assignment.partition("=")
        if not equals or not _KEY.fullmatch(key):
            raise UsageError(
                f"--set {assignment}: not of the form KEY=VALUE",
                suggestion="write --set embed.model=hashing; `recalld config show` lists the keys",
            )
        found[key] = value
    return found


def _holder(state_dir: Any) -> Holder:
    from recalld.embedded.state import holder_of

    holder = holder_of(state_dir)
    if holder is None:
        raise UnreachableError(
            f"no daemon is running on {state_dir}", suggestion="start one with `recalld run`, or give --state-dir"
        )
    return holder
