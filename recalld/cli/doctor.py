"""``recalld doctor``: can recalld work here, and if not, what to do about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.running import Assignments, flags_of

if TYPE_CHECKING:
    from recalld.settings import Settings

EXAMPLES = """
recalld doctor
recalld doctor --config /etc/recalld/recalld.toml --json
"""


async def doctor(cli: Invocation, assignments: Assignments = None) -> int:
    """Check everything that recalld needs on this machine, with or without a running daemon.

    Exit status 1 when something would keep the daemon from working.
    """
    from recalld.bus import wire
    from recalld.cli.checks import examine
    from recalld.cli.status import show_checks
    from recalld.configuration import load
    from recalld.errors import ConfigError

    checks = []
    settings: Settings | None = None
    try:
        settings, _ = load(cli.config, flags_of(cli, assignments))
    except ConfigError as error:
        checks.append(wire.Check(name="settings", status="failed", detail=error.message, suggestion=error.suggestion))
    if settings is not None:
        checks += await examine(settings)
    if cli.as_json:
        typer.echo(json.dumps({"checks": [check.model_dump(mode="json") for check in checks]}))
    else:
        show_checks(checks, output.console())
        _sum_up([check.status for check in checks])
    return 1 if any(check.status == "failed" for check in checks) else 0


def _sum_up(statuses: list[str]) -> None:
    failed, degraded = statuses.count("failed"), statuses.count("degraded")
    if failed:
        output.say(f"{failed} of {len(statuses)} checks failed: recalld will not work here yet")
    elif degraded:
        output.say(f"recalld will work here; {degraded} things could be better")
    else:
        output.say("recalld will work here")
