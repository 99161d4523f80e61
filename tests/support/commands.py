"""The command lines, run in this process or merely parsed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from anyio import to_thread
from typer.testing import CliRunner, Result

from recalld.cli import client_app, daemon_app
from tests.support.daemon import Daemon

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


async def run_recall(daemon: Daemon, *arguments: str, answer: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command as a user would, in a process of its own, against a daemon.

    With ``answer`` somebody is at the terminal, who types that; else nobody is there.
    """
    command = [sys.executable, "-c", "from recalld.cli import recall; recall()", *arguments]
    if arguments[0] != "lint":
        command += ["--state-dir", str(daemon.state_dir)]
    with _terminal(answer) as stdin:
        return await to_thread.run_sync(
            lambda: subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
        )


@contextmanager
def _terminal(answer: str | None) -> Iterator[int]:
    if answer is None:
        yield subprocess.DEVNULL
        return
    person, terminal = os.openpty()
    try:
        os.write(person, f"{answer}\n".encode())
        yield terminal
    finally:
        os.close(person)
        os.close(terminal)
