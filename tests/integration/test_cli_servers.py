"""``recalld migrate`` and ``recalld doctor`` on servers that are not embedded."""

from __future__ import annotations

import json
from pathlib import Path

from anyio import to_thread
from typer.testing import Result

from recalld.store.migrate import known
from tests.support.commands import run


async def command(line: str, home: Path) -> Result:
    """Run a command line beside the event loop, with nobody's settings."""
    return await to_thread.run_sync(
        lambda: run(line, XDG_CONFIG_HOME=str(home), XDG_STATE_HOME=str(home), XDG_CACHE_HOME=str(home))
    )


async def test_migrate_says_what_it_would_do_does_it_and_is_done(empty_postgres: str, tmp_path: Path) -> None:
    names = [f"{migration.version:04d}_{migration.name}" for migration in known()]
    line = f"recalld migrate --set store.dsn={empty_postgres} --json"
    pending = await command(f"{line} --check", tmp_path)
    assert (pending.exit_code, json.loads(pending.stdout)) == (1, {"pending": names})
    applied = await command(line, tmp_path)
    assert (applied.exit_code, json.loads(applied.stdout)) == (0, {"applied": names})
    done = await command(f"{line} --check", tmp_path)
    assert (done.exit_code, json.loads(done.stdout)) == (0, {"pending": []})


async def test_migrate_names_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    result = await command("recalld migrate --set store.dsn=postgresql://u@127.0.0.1:1/none", tmp_path)
    assert result.exit_code == 1
    assert "Postgres cannot be reached" in result.stderr


async def test_doctor_reaches_servers_of_ones_own(postgres: str, nats: str, tmp_path: Path) -> None:
    result = await command(
        f"recalld doctor --json --set store.dsn={postgres} --set bus.servers={nats} --set embed.model=hashing", tmp_path
    )
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert result.exit_code == 0, checks
    assert "up to date" in checks["postgres"]["detail"]
    assert "reachable" in checks["nats"]["detail"]
    assert "none answers" in checks["daemon"]["detail"]
