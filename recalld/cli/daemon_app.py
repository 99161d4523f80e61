"""The app ``recalld``: run the daemon and look after it."""

from __future__ import annotations

import typer

from recalld.cli import configuring, doctor, running
from recalld.cli.command import application, command

app = application("recalld gives AI agents a memory they can trust. This command runs the daemon and looks after it.")
config_app = typer.Typer(help="Show and check the settings.", no_args_is_help=True)
app.add_typer(config_app, name="config")

command(app, examples=running.RUN_EXAMPLES)(running.run)
command(app, examples=running.STATUS_EXAMPLES)(running.status)
command(app, examples=doctor.EXAMPLES)(doctor.doctor)
command(app, examples=running.RELOAD_EXAMPLES)(running.reload)
command(app, examples=configuring.MIGRATE_EXAMPLES)(configuring.migrate)
command(config_app, examples=configuring.SHOW_EXAMPLES)(configuring.show)
command(config_app, examples=configuring.CHECK_EXAMPLES)(configuring.check)
