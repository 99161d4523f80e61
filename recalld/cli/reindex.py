"""``recall reindex``: compare disk with index, and follow the work until all of it is indexed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import RecalldError, RefusedError

if TYPE_CHECKING:
    from rich.table import Table

    from recalld.bus import wire
    from recalld.bus.client import RecallClient

POLL_S = 0.6
"""How often progress is asked for; the daemon counts anew twice a second."""

RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="Only this repo.")]
PathOption = Annotated[str | None, typer.Option("--path", metavar="PATH", help="Only this path of --repo.")]
AllowPrune = Annotated[
    bool, typer.Option("--allow-prune", help="Let the scan drop half a repo or more from the index.")
]
Force = Annotated[bool, typer.Option("--force", help="Read every file again, also those that look unchanged.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Return when all that was found is indexed.")]

EXAMPLES = """
recall reindex
recall reindex --repo memory --allow-prune
"""


async def reindex(
    cli: Invocation,
    repo: RepoName = None,
    path: PathOption = None,
    allow_prune: AllowPrune = False,
    force: Force = False,
    wait: Wait = True,
) -> int:
    """Compare disk with index now and index what differs, showing the progress.

    Exit status 1 when a repo could not be scanned, 4 when a scan would drop half a repo or more and did not.
    """
    async with cli.client() as client:
        with _scanning(cli):
            reply = await client.reindex(repo=repo, path=path, allow_prune=allow_prune, force=force)
        published = sum(report.changed + report.deleted for report in reply.reports)
        if wait and published:
            await follow_until_indexed(client, published, cli)
    if cli.as_json:
        output.reply_json(reply)
    else:
        output.console().print(_reports(reply.reports))
        _explain(reply.reports)
    return _status(reply.reports)


async def follow_until_indexed(client: RecallClient, published: int, cli: Invocation) -> None:
    """Wait until nothing waits to be indexed any more, with a progress bar on a terminal."""
    import anyio

    with _indexing(cli, published) as advance:
        while True:
            await anyio.sleep(POLL_S)
            pending = (await client.stats(findings=0)).freshness.pending
            advance(pending)
            if pending == 0:
                return


def _scanning(cli: Invocation) -> AbstractContextManager[object]:
    """Show on a terminal that disk and index are being compared."""
    if cli.as_json or not sys.stderr.isatty():
        return nullcontext()
    return output.console(err=True).status("comparing disk with index")


@contextmanager
def _indexing(cli: Invocation, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told how many files still wait; on a terminal it moves a bar."""
    if cli.as_json or not sys.stderr.isatty():
        yield lambda pending: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("indexing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=output.console(err=True), transient=True) as progress:
        task = progress.add_task("indexing", total=total)

        def move(pending: int) -> None:
            """Other writers may add to the queue: then there is more to do than was known."""
            nonlocal total
            total = max(total, pending)
            progress.update(task, total=total, completed=total - pending)

        yield move


def _reports(reports: Iterable[wire.ScanReport]) -> Table:
    counts = ("seen", "changed", "deleted", "skipped", "unreadable", "refused")
    table = output.table("repo", *counts, "ms", numbers=(*counts, "ms"))
    for report in reports:
        numbers = (report.seen, report.changed, report.deleted, report.skipped, report.unreadable, report.refused)
        table.add_row(report.repo, *(str(number) for number in numbers), f"{report.took_ms:.0f}")
    return table


def _explain(reports: Iterable[wire.ScanReport]) -> None:
    """Say on stderr what kept a scan from being complete."""
    for report in reports:
        if report.error is not None:
            problem = RecalldError(f"{report.repo}: {report.error.message}", suggestion=report.error.suggestion)
            output.error(problem, as_json=False)
        elif report.refused:
            problem = RefusedError(
                f"{report.repo}: {report.refused} files are gone, half the repo or more: kept in the index",
                suggestion="if they are really gone: recall reindex --allow-prune",
            )
            output.error(problem, as_json=False)


def _status(reports: Iterable[wire.ScanReport]) -> int:
    statuses = {0}
    for report in reports:
        if report.refused or (report.error is not None and report.error.code == RefusedError.code):
            statuses.add(RefusedError.exit_status)
        elif report.error is not None:
            statuses.add(RecalldError.exit_status)
    return max(statuses)
