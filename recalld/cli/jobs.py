"""``recall jobs list | run | cancel``: what runs by the clock, what ran, and what shall run now."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import RefusedError

if TYPE_CHECKING:
    from rich.table import Table

    from recalld.bus import wire
    from recalld.bus.client import RecallClient

LOOK_S = 1.0
"""How often a run is asked about when no event comes."""
_LONGEST = 100
"""Characters of an outcome in a table."""

JobName = Annotated[str, typer.Argument(metavar="NAME", help="The job; `recall jobs list` names them.")]
OnlyJob = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Only this job.")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=0, max=1_000, help="How many past runs at most.")]
Wait = Annotated[bool, typer.Option("--wait", help="Show the progress, and return when it has ended.")]
RunId = Annotated[int, typer.Argument(metavar="ID", help="The run; `recall jobs list` shows the ids.")]

LIST_EXAMPLES = """
recall jobs list
recall jobs list --name lint --limit 5 --json
"""
RUN_EXAMPLES = """
recall jobs run verify --wait
recall jobs run lint --json
"""
CANCEL_EXAMPLES = "recall jobs cancel 42"


async def list_(cli: Invocation, name: OnlyJob = None, limit: Limit = 20) -> int:
    """Show each job with its next and its last run, and the runs before. Times to come are this daemon's settings'."""
    async with cli.client() as client:
        reply = await client.jobs(name, limit=limit)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    console = output.console()
    console.print(_schedule(reply.jobs))
    if reply.runs:
        console.print()
        console.print(_history(reply.runs))
    waiting = reply.unsettled - sum(run.state == "running" for run in reply.runs)
    if waiting > 0:
        output.say(f"{waiting} requests wait for a node with the role index", dim=True)
    return 0


async def run(cli: Invocation, name: JobName, wait: Wait = False) -> int:
    """Run a job now, on whichever node takes it. With --wait exit status 1 when it does not end well.

    It runs beside the schedule and changes nothing of it.
    """
    async with cli.client() as client, _events(client, wait) as events:
        asked = (await client.jobs_run(name)).run
        ended = await _until_ended(client, asked, events, cli) if wait else asked
    if cli.as_json:
        typer.echo(ended.model_dump_json())
    elif not wait:
        output.say(f"{name}: run {asked.id} was asked for; `recall jobs list --name {name}` shows how it fares")
    else:
        output.say(f"{name}: run {ended.id} {_words(ended)}")
    return 1 if wait and ended.state != "done" else 0


async def cancel(cli: Invocation, id_: RunId) -> int:
    """Call off a run: one that waits at once, one that runs within a second or two. Exit status 1 if it has ended."""
    from recalld.bus.wire.jobs import ENDED

    async with cli.client() as client:
        called_off = (await client.jobs_cancel(id=id_)).run
    late = called_off.state in ENDED and called_off.state != "cancelled"
    if cli.as_json:
        typer.echo(called_off.model_dump_json())
    elif late:
        output.say(f"{called_off.name}: run {id_} had ended already: {_words(called_off)}")
    elif called_off.state == "cancelled":
        output.say(f"{called_off.name}: run {id_} is cancelled")
    else:
        output.say(f"{called_off.name}: run {id_} is told to stop on {called_off.node}")
    return 1 if late else 0


@asynccontextmanager
async def _events(client: RecallClient, wanted: bool) -> AsyncIterator[AsyncIterator[wire.Event] | None]:
    """Follow what jobs tell; None where that is not wanted, or this user may not listen."""
    async with AsyncExitStack() as stack:
        events = None
        if wanted:
            try:
                events = await stack.enter_async_context(client.follow("job"))
            except RefusedError:
                events = None
        yield events


async def _until_ended(
    client: RecallClient, asked: wire.JobRunView, events: AsyncIterator[wire.Event] | None, cli: Invocation
) -> wire.JobRunView:
    """Follow a run to its end by its events, and by asking besides."""
    import anyio

    from recalld.bus.wire.jobs import ENDED

    with _progress(asked.name, cli) as show:
        while True:
            (seen,) = (await client.jobs(id=asked.id)).runs
            if seen.state in ENDED:
                return seen
            show(seen.share, seen.words or seen.error or seen.state)
            if events is None:
                await anyio.sleep(LOOK_S)
                continue
            with anyio.move_on_after(LOOK_S):
                await _next_of(events, asked.id, show)


async def _next_of(events: AsyncIterator[wire.Event], run_id: int, show: Callable[[float | None, str], None]) -> None:
    """Return at the next event of a run that is no mere progress."""
    async for event in events:
        if event.data.get("run") != run_id:
            continue
        if event.topic != "job.progress":
            return
        done, total = event.data["done"], event.data["total"]
        show(done / total if total else None, event.data["words"])


@contextmanager
def _progress(name: str, cli: Invocation) -> Iterator[Callable[[float | None, str], None]]:
    """Yield a function that is told how far the job is; on a terminal it moves a bar."""
    if cli.as_json or not sys.stderr.isatty():
        yield lambda share, words: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeElapsedColumn())
    with Progress(*columns, console=output.console(err=True), transient=True) as bar:
        task = bar.add_task(name, total=None, words="")

        def show(share: float | None, words: str) -> None:
            bar.update(task, total=None if share is None else 1.0, completed=share or 0.0, words=output.plain(words))

        yield show


def _schedule(jobs: Iterable[wire.JobView]) -> Table:
    table = output.table("job", "when", "next", "last", "outcome")
    for job in jobs:
        last = job.last
        table.add_row(
            job.name,
            job.when or "[dim]never by the clock[/]",
            _time(job.next_at),
            _time(last.ended_at or last.started_at or last.asked_at) if last else "[dim]never[/]",
            f"{_state(last)} {output.plain(_outcome(last))}" if last else "",
        )
    return table


def _history(runs: Iterable[wire.JobRunView]) -> Table:
    table = output.table("id", "job", "slot", "state", "node", "began", "took", "outcome", numbers=("id", "took"))
    for run in runs:
        table.add_row(
            str(run.id), run.name, run.slot, _state(run), run.node, _time(run.started_at), _took(run),
            output.plain(_outcome(run)),
        )  # fmt: skip
    return table


def _state(run: wire.JobRunView) -> str:
    colours = {"done": "green", "running": "cyan", "queued": "dim", "cancelled": "yellow"}
    return f"[{colours.get(run.state, 'red')}]{run.state.replace('_', ' ')}[/]"


def _outcome(run: wire.JobRunView) -> str:
    if run.state == "running":
        percent = f"{run.share:.0%} " if run.share is not None else ""
        told = f" (to be cancelled by {run.cancelled_by})" if run.cancelled_by else ""
        return f"{percent}{run.words}{told}"
    return _cut(_told(run))


def _words(run: wire.JobRunView) -> str:
    told = _told(run)
    return f"{run.state.replace('_', ' ')}{f' on {run.node}' if run.node else ''}{f': {told}' if told else ''}"


def _told(run: wire.JobRunView) -> str:
    from recalld.bus.job_words import in_words

    return run.error or (in_words(run.result) if run.state == "done" else "")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\u2026"


def _time(moment: datetime | None) -> str:
    return output.local_time(moment) if moment else ""


def _took(run: wire.JobRunView) -> str:
    if run.started_at is None or run.ended_at is None:
        return ""
    return f"{(run.ended_at - run.started_at).total_seconds():.1f} s"
