"""How results look: JSON for programs, tables for people, errors on stderr."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from recalld import __version__
from recalld.errors import RecalldError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console
    from rich.table import Table

    from recalld.bus import wire

PIPED_WIDTH = 160
"""Columns of what is not written to a terminal, unless $COLUMNS says otherwise."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLES = {
    "ok": "green",
    "ready": "green",
    "warming": "yellow",
    "degraded": "yellow",
    "failed": "red",
    "error": "red",
    "warning": "yellow",
}
VERDICTS = {"ok": "green", "unverified": "dim"}
"""Colours of verdicts; the others warn."""


def version() -> None:
    """Print the version."""
    typer.echo(f"recalld {__version__}")


def console(*, err: bool = False, widest: int | None = None) -> Console:
    """Return a console: colours and the terminal's width on a terminal, plain and wide in a pipe.

    ``widest`` is for prose, which nobody reads across a whole screen.
    """
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    made = Console(stderr=err, width=width, highlight=False, soft_wrap=False)
    if widest is not None and made.width > widest:
        made.width = widest
    return made


def table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """Return a table that folds what is too wide instead of cutting it off; ``numbers`` are set to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    result = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        result.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return result


def styled(word: str) -> str:
    """Return a state in its colour, as rich markup."""
    style = _STYLES.get(word)
    return f"[{style}]{word}[/]" if style else plain(word)


def plain(text: str) -> str:
    """Return text from outside so that it is shown as it is: no markup, no control characters of the terminal."""
    from rich.markup import escape

    return escape(terminal(text))


def terminal(text: str) -> str:
    """Return text from outside for a terminal as it is, without the terminal's control characters."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def markdown(text: str) -> str:
    """Return our own prose as rich markup: what stands between backquotes is set apart."""
    return re.sub(r"`([^`]+)`", r"[bold]\1[/]", plain(text))


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


def say(text: str, *, dim: bool = False) -> None:
    """Print one line for people."""
    typer.secho(text, dim=dim or None)


def quoted(argument: str) -> str:
    """Return an argument so that a shell takes it as one word."""
    return shlex.quote(argument)


def reply_json(reply: BaseModel) -> None:
    """Print a message of the bus as JSON: indented on a terminal, on one line in a pipe."""
    typer.echo(reply.model_dump_json(indent=2 if sys.stdout.isatty() else None))


def age(moment: datetime | None, now: datetime) -> str:
    """Say how long ago something was, in its largest unit."""
    if moment is None:
        return "never"
    seconds = max(0.0, (now - moment).total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def local_time(moment: datetime) -> str:
    """Return a moment in the user's zone, to the second."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def size(count: float) -> str:
    """Return bytes in the largest unit that leaves at least one."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def freshness_line(freshness: wire.Freshness, now: datetime) -> str:
    """Say how far the index is behind the disk."""
    parts = [f"newest memory indexed {age(freshness.newest_indexed_at, now)}"]
    if freshness.aged:
        parts.append("that is longer ago than trust.stale_after_hours")
    if freshness.pending:
        parts.append(f"{freshness.pending} files waiting to be indexed")
    if freshness.stale:
        parts.append(f"{freshness.stale} files known to differ on disk")
    if freshness.failed:
        parts.append(f"{freshness.failed} files failed: `recall stats` names them")
    return "; ".join(parts)


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)
