"""How results look: JSON for programs, tables for people, errors on stderr."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import typer

from recalld import __version__
from recalld.errors import RecalldError

if TYPE_CHECKING:
    from pydantic import BaseModel


def version() -> None:
    """Print the version."""
    typer.echo(f"recalld {__version__}")


def error(problem: RecalldError, *, as_json: bool) -> None:
    """Say on stderr what went wrong and what to do about it."""
    if as_json:
        body = {"code": problem.code, "message": problem.message, "suggestion": problem.suggestion}
        typer.echo(json.dumps({"error": body}), err=True)
        return
    typer.secho("error: ", fg="red", bold=True, nl=False, err=True)
    typer.echo(problem.message, err=True)
    if problem.suggestion:
        typer.echo(f"       {problem.suggestion}", err=True)


def reply_json(reply: BaseModel) -> None:
    """Print a reply of the bus as one JSON object."""
    typer.echo(reply.model_dump_json(indent=2 if sys.stdout.isatty() else None))
