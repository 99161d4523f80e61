"""``recall sessions`` and ``recall episodes``: conversations, and the answers that are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

SessionId = Annotated[str, typer.Argument(metavar="ID", help="The session.")]
NewId = Annotated[str | None, typer.Argument(metavar="ID", help="Its id (default: one is made).", show_default=False)]
Title = Annotated[str, typer.Argument(metavar="TITLE", help="Its title.")]
TitleOption = Annotated[str, typer.Option("--title", metavar="TITLE", help="Its title.")]
Limit = Annotated[int, typer.Option(metavar="N", min=1, max=1_000, help="How many at most.")]
EpisodeId = Annotated[int, typer.Argument(metavar="ID", help="The answer, as `recall episodes list` names it.")]
Ended = Annotated[bool, typer.Option("--ended", help="Those that are served no longer, too.")]

LIST_EXAMPLES = "recall sessions list"
SHOW_EXAMPLES = "recall sessions show review"
CREATE_EXAMPLES = 'recall sessions create review --title "Review of the queue"'
RENAME_EXAMPLES = 'recall sessions rename review "The queue, again"'
DELETE_EXAMPLES = "recall sessions delete review"
EPISODES_EXAMPLES = """
recall episodes list
recall episodes list --ended --json
"""
EPISODE_EXAMPLES = "recall episodes show 12"
MARK_EXAMPLES = """
recall episodes mark 12 helped
recall episodes mark 12 failed
"""
TIDY_EXAMPLES = """
recall episodes tidy
recall episodes tidy --apply
"""
FORGET_EXAMPLES = "recall episodes forget 12"


async def list_(cli: Invocation, limit: Limit = 20) -> int:
    """List this agent's conversations, the one used last first."""
    async with cli.client() as client:
        reply = await client.sessions(limit=limit)
    if cli.as_json:
        output.reply_json(reply)
    elif not reply.sessions:
        output.say("no sessions yet: one begins with `recall ask TEXT --session ID`")
    else:
        table = output.table("session", "used", "messages", "title", numbers=("messages",))
        for each in reply.sessions:
            table.add_row(
                output.plain(each.id), output.local_time(each.updated_at), str(each.messages), output.plain(each.title)
            )
        output.console().print(table)
    return 0


async def show(cli: Invocation, id_: SessionId, limit: Limit = 50) -> int:
    """Show what was said in a conversation."""
    async with cli.client() as client:
        reply = await client.sessions(id=id_, limit=limit)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    console = output.console()
    for message in reply.said:
        console.print(f"[bold]{output.plain(message.role)}[/] [dim]{output.local_time(message.at)}[/]")
        console.print(output.plain(message.text))
        if message.standalone:
            console.print(f"[dim]taken as: {output.plain(message.standalone)}[/]")
    return 0


async def create(cli: Invocation, id_: NewId = None, title: TitleOption = "") -> int:
    """Begin a conversation. One begins by itself, too, with the first question that names it."""
    return await _edit(cli, "create", id_, title, "begun")


async def rename(cli: Invocation, id_: SessionId, title: Title) -> int:
    """Give a conversation another title."""
    return await _edit(cli, "rename", id_, title, "renamed")


async def delete(cli: Invocation, id_: SessionId) -> int:
    """Drop a conversation with all that was said in it."""
    return await _edit(cli, "delete", id_, "", "deleted")


async def _edit(cli: Invocation, action: str, id_: str | None, title: str, done: str) -> int:
    async with cli.client() as client:
        reply = await client.sessions_edit(action=action, id=id_, title=title)
    if cli.as_json:
        output.reply_json(reply)
    else:
        output.say(f"{done}: {reply.sessions[0].id}")
    return 0


async def episodes(cli: Invocation, ended: Ended = False, limit: Limit = 20) -> int:
    """List the answers that were derived for this agent and are remembered."""
    async with cli.client() as client:
        reply = await client.episodes(ended=ended, limit=limit)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    if not reply.episodes:
        output.say("nothing is remembered yet: `recall ask TEXT` answers and remembers")
        return 0
    table = output.table("id", "when", "served", "question", "state", numbers=("id", "served"))
    for each in reply.episodes:
        state = f"[dim]{output.plain(each.ended)}[/]" if each.ended else "[green]served[/]"
        when = output.local_time(each.at)
        table.add_row(str(each.id), when, str(each.served), output.plain(each.question), state)
    console = output.console()
    console.print(table)
    console.print(f"[dim]{reply.standing} answers of all agents may be served, {reply.over} no longer[/]")
    return 0


async def episode(cli: Invocation, id_: EpisodeId) -> int:
    """Show a remembered answer, what it cites, and what became of it."""
    async with cli.client() as client:
        reply = await client.episodes(id=id_)
    if cli.as_json:
        output.reply_json(reply)
    else:
        _show(reply.episodes[0], output.console())
    return 0


def _show(view: wire.EpisodeView, console: Console) -> None:
    console.print(f"[bold]{output.plain(view.question)}[/]")
    console.print(output.plain(view.answer))
    for citation in view.citations:
        place = f"{citation.repo}:{citation.path}:{citation.lines[0]}-{citation.lines[1]}"
        console.print(f"  [dim]\\[{citation.number}][/] [cyan]{output.plain(place)}[/]")
    counts = f"served {view.served}, helped {view.helped}, failed {view.failed}, corrected {view.corrected}"
    console.print(f"[dim]by {output.plain(view.answerer)} for {output.plain(view.agent)}; {counts}[/]")
    if view.ended:
        console.print(f"[yellow]served no longer[/]: {output.plain(view.ended)}")


async def mark(
    cli: Invocation,
    id_: EpisodeId,
    outcome: Annotated[str, typer.Argument(metavar="helped|failed", help="What became of it.")],
) -> int:
    """Say whether a remembered answer helped; one that failed is derived anew."""
    return await _mark(cli, id_, outcome)


async def forget(cli: Invocation, id_: EpisodeId) -> int:
    """Serve a remembered answer no longer."""
    return await _mark(cli, id_, "forget")


async def tidy(
    cli: Invocation,
    apply: Annotated[bool, typer.Option("--apply", help="End the near-duplicates, instead of naming them.")] = False,
) -> int:
    """Look through all remembered answers: junk and what is beyond the cap ends, near-duplicates are named.

    The job `episodes` does the same each night. Exit status 1 where there are near-duplicates to decide on.
    """
    async with cli.client() as client:
        reply = await client.episodes_tidy(merge=apply)
    if cli.as_json:
        output.reply_json(reply)
    else:
        console = output.console()
        for pair in reply.duplicates:
            kept, needless = map(output.plain, pair.questions)
            what = "merged" if apply else "could be merged"
            console.print(f"{pair.needless} {needless}\n  {what} into {pair.keep} {kept} [dim]{pair.similarity:.2f}[/]")
        console.print(f"[dim]ended: {reply.junk} junk, {reply.excess} beyond the cap, {reply.merged} merged[/]")
    return 1 if reply.duplicates and not apply else 0


async def _mark(cli: Invocation, id_: int, outcome: str) -> int:
    async with cli.client() as client:
        reply = await client.episodes_mark(id=id_, outcome=outcome)
    if cli.as_json:
        output.reply_json(reply)
    else:
        _show(reply.episodes[0], output.console())
    return 0
