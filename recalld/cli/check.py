"""``recall check``: before a memo is saved, what it replaces, repeats or contradicts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation, finished
from recalld.errors import NotFoundError, TooLargeError, UsageError
from recalld.ingest.content import is_binary
from recalld.ingest.decode import decode
from recalld.ingest.report import Reporter

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire
    from recalld.bus.client import RecallClient

File = Annotated[str, typer.Argument(metavar="FILE", help="The memo; - reads it from stdin (then give --path).")]
AsPath = Annotated[str | None, typer.Option("--path", metavar="PATH", help="Where it will stand, in the repo.")]
RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="The repo (default: the one it is in).")]
Warn = Annotated[bool, typer.Option("--warn", help="Exit with 0 whatever is found.")]

MAX_BYTES = 524_288
"""A larger memo is not compared (the bus takes no larger request)."""
EXAMPLES = """
recall check decisions/0016-shore-power.md
recall check - --path decisions/0016-shore-power.md --repo memory
recall check decisions/0016-shore-power.md --warn --json
"""


def check(cli: Invocation, file: File, path: AsPath = None, repo: RepoName = None, warn: Warn = False) -> int:
    """Tell, before a memo is saved, what it probably replaces, what it contradicts and what says the same already.

    Exit status 1 when there is something to look at, so that it can stand in a pre-commit hook.
    """
    text = _decoded("stdin", sys.stdin.buffer.read(MAX_BYTES + 1)) if file == "-" else _read(Path(file))
    inside, reply = finished(_asked(cli, file, text, path, repo))
    if cli.as_json:
        output.reply_json(reply)
    else:
        _show(reply, inside, output.console())
    return 1 if reply.findings and not warn else 0


async def _asked(
    cli: Invocation, file: str, text: str, path: str | None, repo: str | None
) -> tuple[str, wire.CheckReply]:
    async with cli.client() as client:
        name, inside = await _place(client, file, path, repo)
        return inside, await client.check(path=inside, text=text, repo=name)


def _read(path: Path) -> str:
    if not path.exists():
        raise NotFoundError(f"there is no {path}", suggestion="give the memo's file, or - for stdin")
    if not path.is_file():
        raise UsageError(f"{path} is no file", suggestion="give the memo's file, or - for stdin")
    try:
        with path.open("rb") as file:
            return _decoded(str(path), file.read(MAX_BYTES + 1))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", suggestion="see its permissions") from error


def _decoded(name: str, content: bytes) -> str:
    """Read a memo as the daemon would. Raises TooLargeError, UsageError for what is no text."""
    if len(content) > MAX_BYTES:
        raise TooLargeError(f"{name} is over {output.size(MAX_BYTES)}", suggestion="a memo is a page, not a book")
    if is_binary(content):
        raise UsageError(f"{name} is binary", suggestion="give a text file")
    return decode(content, Reporter(name))


async def _place(client: RecallClient, file: str, path: str | None, repo: str | None) -> tuple[str | None, str]:
    """Return the repo that a file is in and its path there; without one it is compared with all repos."""
    if path is not None:
        return repo, path
    if file == "-":
        raise UsageError("a memo from stdin has no place", suggestion="say where it will stand: --path decisions/x.md")
    return _inside((await client.repo_list()).repos, Path(file), repo)


def _inside(repos: Sequence[wire.RepoView], file: Path, repo: str | None) -> tuple[str | None, str]:
    where = file.resolve()
    for view in repos:
        root = Path(view.path).resolve()
        if repo in (None, view.name) and where.is_relative_to(root):
            return view.name, where.relative_to(root).as_posix()
    return repo, where.name


def _show(reply: wire.CheckReply, path: str, console: Console) -> None:
    if reply.state != "ready":
        console.print(f"[bold]{output.styled(reply.state)}[/]: compared by words alone")
    for finding in reply.findings:
        console.print(
            f"[yellow]{finding.code}[/]  [cyan]{output.plain(f'{finding.repo}:{finding.path}')}[/]  "
            f"{output.plain(finding.message)}"
        )
        if finding.suggestion:
            console.print(f"    [dim]{output.plain(finding.suggestion)}[/]")
    if not reply.findings:
        console.print(f"{output.plain(path)}: nothing against it among the {reply.compared} nearest memos")
