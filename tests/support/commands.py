"""The command lines, run in this process or merely parsed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from typer.testing import CliRunner, Result

from recalld.cli import client_app, daemon_app

APPS = {"recall": client_app.app, "recalld": daemon_app.app}


def run(line: str, **environment: str) -> Result:
    """Run a command line such as ``recall search foo``; errors that nobody caught fail the test."""
    program, *words = shlex.split(line)
    return CliRunner().invoke(
        APPS[program], words, env={"COLUMNS": "120", **environment}, prog_name=program, catch_exceptions=False
    )


def is_known(line: str) -> bool:
    """Tell whether the command and all options of a line exist, without running it."""
    return run(f"{line} --help").exit_code == 0


def commands() -> Iterator[str]:
    """Yield every command of both programs, as ``recall repo add``."""
    for program, app in APPS.items():
        yield from (f"{program} {info.name or _name(info.callback)}" for info in app.registered_commands)
        for group in app.registered_groups:
            assert group.typer_instance is not None
            for info in group.typer_instance.registered_commands:
                yield f"{program} {group.name} {info.name or _name(info.callback)}"


def _name(callback: object) -> str:
    return str(getattr(callback, "__name__", "")).replace("_", "-")
