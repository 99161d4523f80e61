"""``recalld config show | check`` and ``recalld migrate``: settings, and the schema of the database they name."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.running import Assignments, flags_of

if TYPE_CHECKING:
    from recalld.settings import Settings

Pending = Annotated[bool, typer.Option("--check", help="Only name what would be applied; exit status 1 if anything.")]
Changed = Annotated[bool, typer.Option("--changed", help="Only settings that differ from their default.")]

SHOW_EXAMPLES = """
recalld config show
recalld config show --changed --json
"""
CHECK_EXAMPLES = "recalld config check --config ./recalld.toml"
MIGRATE_EXAMPLES = """
recalld migrate --check
recalld migrate --set store.dsn=postgresql://recalld@db/recalld
"""


def show(cli: Invocation, changed: Changed = False, assignments: Assignments = None) -> int:
    """Print every setting in force and where it comes from. Secrets are hidden."""
    from recalld.configuration import explain, load

    rows = explain(*load(cli.config, flags_of(cli, assignments)))
    if changed:
        rows = [row for row in rows if row.source != "default"]
    if cli.as_json:
        typer.echo(json.dumps({row.key: {"value": row.value, "source": row.source} for row in rows}))
        return 0
    table = output.table("setting", "value", "source")
    for row in rows:
        style = "dim" if row.source == "default" else None
        table.add_row(row.key, output.plain(row.value), output.plain(row.source), style=style)
    output.console().print(table)
    return 0


def check(cli: Invocation, assignments: Assignments = None) -> int:
    """Check the settings and the paths they name, without starting anything. Exit status 2 names the first fault."""
    from recalld.configuration import check_paths, find_file, load
    from recalld.jobs.job import plans

    settings, _ = load(cli.config, flags_of(cli, assignments))
    check_paths(settings)
    plans(settings.schedule)
    file = find_file(cli.config)
    if cli.as_json:
        typer.echo(json.dumps({"ok": True, "file": str(file) if file else None}))
    else:
        output.say(f"the settings are fine ({file or 'no settings file, defaults and environment only'})")
    return 0


async def migrate(cli: Invocation, check_only: Pending = False, assignments: Assignments = None) -> int:
    """Bring the database's schema to this version. `recalld run` does it at each start, too.

    Without store.dsn it is the embedded Postgres that is migrated; no daemon may run on it then.
    """
    from recalld.configuration import load
    from recalld.store.migrate import migrate as apply
    from recalld.store.migrate import pending

    settings, _ = load(cli.config, flags_of(cli, assignments))
    async with _database(settings) as dsn:
        names = await (pending(dsn) if check_only else apply(dsn))
    if cli.as_json:
        typer.echo(json.dumps({"pending" if check_only else "applied": names}))
    else:
        word = "would apply" if check_only else "applied"
        output.say("\n".join(f"{word} {name}" for name in names) or "the schema is up to date")
    return 1 if check_only and names else 0


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[str]:
    """Give the dsn of the configured Postgres, or of the embedded one, started for the while."""
    if settings.store.dsn is not None:
        yield settings.store.dsn.get_secret_value()
        return
    from recalld.embedded.postgres import EmbeddedPostgres
    from recalld.embedded.state import StateDirectory

    with StateDirectory.acquire(settings.node.state_dir) as state:
        async with await EmbeddedPostgres.start(state.path) as postgres:
            yield postgres.dsn
