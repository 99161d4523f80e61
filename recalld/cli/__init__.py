"""Two commands: ``recalld`` runs and looks after the daemon, ``recall`` asks it.

Both start in the time of an import of typer: whatever is heavier (pydantic models, the bus client, rich) is imported
inside the function that needs it, since shells run these programs at each press of the tab key.
"""

from __future__ import annotations


def recalld() -> None:
    """Run the daemon's command line on this process's arguments; ends the process."""
    from recalld.cli.daemon_app import app

    app(prog_name="recalld")


def recall() -> None:
    """Run the client's command line on this process's arguments; ends the process."""
    from recalld.cli.client_app import app

    app(prog_name="recall")
