"""``recall events``: what happened, and what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on printing events as they happen, until Ctrl-C.")]
Topic = Annotated[
    str | None, typer.Option(metavar="TOPIC", help="Only this topic: indexed, deleted, failed, repo.added ...")
]
Since = Annotated[int | None, typer.Option(metavar="SEQ", help="Only events after this one's seq.")]
Limit = Annotated[int, typer.Option(metavar="N", min=1, max=1_000, help="How many past events at most.")]

EXAMPLES = """
recall events --topic failed
recall events --follow --json
"""


async def events(
    cli: Invocation, follow: Follow = False, topic: Topic = None, since: Since = None, limit: Limit = 20
) -> int:
    """Print what the daemon announced, oldest first. With --json one object a line."""
    console = output.console()
    async with cli.client() as client:
        if not follow:
            for event in (await client.events(since=since, limit=limit, topic=topic)).events:
                _show(event, cli, console)
            return 0
        async with client.follow(topic) as live:  # before the history is read, so that nothing falls between the two
            shown = 0
            for event in (await client.events(since=since, limit=limit, topic=topic)).events:
                _show(event, cli, console)
                shown = event.seq or shown
            async for event in live:
                if event.seq is None or event.seq > shown:
                    _show(event, cli, console)
    return 0


def _show(event: wire.Event, cli: Invocation, console: Console) -> None:
    if cli.as_json:
        typer.echo(event.model_dump_json())
        return
    facts = dict(event.data)
    place = ":".join(str(facts.pop(key)) for key in ("repo", "path") if key in facts)
    rest = " ".join(f"{key}={_fact(value)}" for key, value in facts.items() if value is not None)
    console.print(
        f"[dim]{output.local_time(event.at)}[/]  [bold]{output.plain(event.topic):<12}[/] "
        f"{output.plain(place)} [dim]{output.plain(rest)}[/]",
    )


def _fact(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
