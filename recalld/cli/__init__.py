"""Two commands: ``recalld`` runs and looks after the daemon, ``recall`` asks it.

Both start in the time of an import of typer: whatever is heavier (pydantic models, the bus client, rich) is imported
inside the function that needs it, since shells run these programs at each press of the tab key.
"""

from __future__ import annotations

import sys
from importlib import import_module

INTERRUPTED = 130
"""The exit status of a program that Ctrl-C ended: 128 + SIGINT."""


def recalld() -> None:
    """Run the daemon's command line on this process's arguments; ends the process."""
    _run("recalld.cli.daemon_app", "recalld")


def recall() -> None:
    """Run the client's command line on this process's arguments; ends the process."""
    _run("recalld.cli.client_app", "recall")


def _run(module: str, name: str) -> None:
    """Run an app; Ctrl-C ends it without a traceback from its first import on."""
    try:
        import_module(module).app(prog_name=name)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
