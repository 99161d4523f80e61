"""``recall preflight`` and ``recall brief``: what to check before an act, and what to know at a beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

Words = Annotated[list[str] | None, typer.Argument(metavar="TEXT...", help="What is about to be done, in words.")]
Tool = Annotated[str, typer.Option(metavar="NAME", help="The tool that does it, as Bash or Edit.")]
File = Annotated[str, typer.Option("--path", metavar="FILE", help="The file that it changes.")]
CommandLine = Annotated[str, typer.Option("--command", "-c", metavar="LINE", help="The shell command that it runs.")]
Repos = Annotated[list[str] | None, typer.Option("--repo", metavar="NAME", help="Only by this repo.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=20, help="How many lines at most.")]
Session = Annotated[str, typer.Option(metavar="NAME", help="Not again what was just told in this session.")]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 where something is to be checked.")]
Rules = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, max=50, help="How many rules at most.")]

EXAMPLES = """
recall preflight --command "git push --force origin release"
recall preflight "drop the column booking.price in the next migration"
recall preflight --tool Edit --path deploy/cron.yaml "run the import every five minutes"
recall preflight --command "$LINE" --exit-code || echo "read this first"
"""
BRIEF_EXAMPLES = """
recall brief
recall brief --repo memory --limit 10 --json
"""


async def preflight(
    cli: Invocation,
    text: Words = None,
    tool: Tool = "",
    path: File = "",
    command: CommandLine = "",
    repo: Repos = None,
    limit: Limit = 3,
    session: Session = "",
    exit_code: ExitCode = False,
) -> int:
    """Say what to check before an act: the lines of lessons and rules that apply to it. Silent where none does.

    Each line says for which words it came. Reading and listing can do no harm, and nothing is said of them.
    """
    import os

    words = " ".join(text or ())
    if not any((words.strip(), path, command)):
        raise UsageError("nothing is about to be done", suggestion="say it in words, or with --command or --path")
    async with cli.client() as client:
        reply = await client.preflight(
            text=words, tool=tool or ("Bash" if command else ""), path=path, command=command, cwd=os.getcwd(),
            repo=tuple(repo or ()), limit=limit, session=session,
        )  # fmt: skip
    if cli.as_json:
        output.reply_json(reply)
    else:
        _show(reply.checks, output.console(widest=100))
        if reply.state != "ready":
            typer.echo("the rules and lessons are still being read: ask again in a moment", err=True)
    return 1 if exit_code and reply.checks else 0


async def brief(cli: Invocation, repo: Repos = None, limit: Rules = 5) -> int:
    """Say what to know when work begins: how fresh the memory is, and the rules that stand."""
    async with cli.client() as client:
        reply = await client.brief(repo=tuple(repo or ()), limit=limit)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    output.say(output.freshness_line(reply.freshness, output.utc_now()), dim=True)
    waiting = f"; {reply.proposed} more wait to be accepted: `recall lessons list --proposed`" if reply.proposed else ""
    count = reply.guardrails
    output.say(f"{count} rules and lessons stand in {', '.join(reply.repos) or 'no repo'}{waiting}", dim=True)
    _show(reply.rules, output.console(widest=100))
    return 0


def _show(checks: tuple[wire.GuardrailView, ...], console: Console) -> None:
    for check in checks:
        console.print(f"[bold]\N{BALLOT BOX} {output.plain(check.check)}[/]")
        because = f"; shares {', '.join(map(output.plain, check.shared))}" if check.shared else ""
        sure = f"  {check.confidence:.0%}" if check.confidence is not None else ""
        console.print(f"  [cyan]{output.plain(f'{check.repo}:{check.id}')}[/][dim]{sure}{because}[/]")
