"""``recall evaluate``: ask questions whose answers are known, and say how good the memory is and where it fails."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.running import Assignments, flags_of
from recalld.errors import NotFoundError, RefusedError, StateHeldError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.evaluate.corpus import Corpus
    from recalld.evaluate.manifest import Setup
    from recalld.evaluate.run import Run
    from recalld.evaluate.tasks import Task
    from recalld.evaluate.workbench import Progress, Workbench

HELP = """Ask questions whose answers are known, and see how good a memory is and where it fails.

Without the name of a command it runs an evaluation: `recall evaluate --tasks FILE --corpus DIR`."""
RUN_EXAMPLES = """
recall evaluate run --tasks questions.jsonl --corpus ~/notes
recall evaluate run --tasks questions.jsonl --corpus ~/notes --conditions lexical,hybrid,+trust
recall evaluate run --tasks questions.jsonl --corpus ~/notes --split tune --set ingest.chunk_tokens=300
"""
EXPLAIN_EXAMPLES = """
recall evaluate explain q17
recall evaluate explain q17 --run evaluations/2026-03-04-101500 --json
"""
COMPARE_EXAMPLES = "recall evaluate compare evaluations/2026-03-04-101500 evaluations/2026-03-05-090000"
SCHEMA_EXAMPLES = "recall evaluate schema > task.schema.json"

RUNS = Path("evaluations")
COMBINATIONS = "combinations"
Tasks = Annotated[Path, typer.Option("--tasks", metavar="FILE", help="The questions, one JSON object a line.")]
CorpusFolder = Annotated[
    Path | None,
    typer.Option("--corpus", metavar="DIR", help="The documents asked about; else `documents` beside the tasks."),
]
Conditions = Annotated[
    str | None,
    typer.Option("--conditions", metavar="NAMES", help="Rungs of the ladder, with commas between; all without it."),
]
Split = Annotated[str | None, typer.Option("--split", metavar="HALF", help="Only the questions of `tune` or `report`.")]
K = Annotated[int, typer.Option("-k", min=1, max=100, help="Places that are looked at.")]
Hits = Annotated[int, typer.Option("--hits", min=1, max=100, help="Passages that an answer may have.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="What is drawn by lot is drawn by it.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where runs are kept, a fresh folder each.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no HTML and no pictures.")]
RunFolder = Annotated[
    Path | None, typer.Option("--run", metavar="DIR", help="The run's folder; the newest without it.")
]


class RunsByDefault(TyperGroup):
    """A group whose command ``run`` need not be named: ``recall evaluate --tasks F``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``run`` before options that are those of no command."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


async def run(
    cli: Invocation,
    tasks: Tasks,
    corpus: CorpusFolder = None,
    conditions: Conditions = None,
    split: Split = None,
    k: K = 5,
    hits: Hits = 10,
    seed: Seed = 0,
    out: Out = RUNS,
    no_report: NoReport = False,
    assignments: Assignments = None,
) -> int:
    """Ask every question of every rung of the ladder, over an index of its own; the daemon is not needed.

    What retrieval, reranking and trust add is told apart, each task that is missed with the stage where it was lost.
    Exit status 0 whatever the scores are.
    """
    from recalld.evaluate import records
    from recalld.evaluate.run import Plan
    from recalld.evaluate.run import run as evaluate

    plan = Plan(chosen_conditions(conditions), k, max(hits, k), seed)
    chosen = chosen_tasks(tasks, split)
    setup = setup_of(cli, assignments)
    report = None if no_report else _report()
    records.require(out)
    at = datetime.now(UTC)
    documents = await corpus_of(corpus, tasks)
    _warn(chosen, documents)
    async with open_workbench(quiet=cli.as_json) as bench:
        done = await evaluate(bench, setup, documents, chosen, plan, at)
    folder = records.fresh_folder(out, at)
    records.write(folder, done, chosen)
    if report is not None:
        report.write(folder, done, chosen)
    if cli.as_json:
        typer.echo(json.dumps({"folder": str(folder), **records.scores(done)}, default=str))
    else:
        show(done, folder, reported=report is not None)
    return 0


def _warn(tasks: Sequence[Task], corpus: Corpus) -> None:
    """Tell on stderr what makes scores lower than the memory is."""
    console = output.console(err=True)
    impossible = [task.id for task in tasks if task.gold and not task.paths & corpus.files.keys()]
    if impossible:
        few = ", ".join(impossible[:5])
        console.print(
            f"[yellow]{len(impossible)} tasks have gold that is not there[/] ({output.plain(few)}): see `check`"
        )
    if corpus.left_out:
        first, why = next(iter(corpus.left_out.items()))
        console.print(f"[yellow]{len(corpus.left_out)} files are left out[/], {output.plain(first)} ({why}) and so on")


def explain(cli: Invocation, task: Annotated[str, typer.Argument(metavar="ID")], run: RunFolder = None) -> int:
    """Tell what became of one question at every rung and stage, and where it was lost."""
    from recalld.evaluate import records
    from recalld.evaluate.tasks import read_tasks

    record = records.read(run or records.newest(RUNS))
    known = {one.id: one for one in read_tasks(record.folder / records.TASKS)}
    if task not in known:
        raise NotFoundError(
            f"{record.folder} has no task {task}", suggestion=f"there are {', '.join(list(known)[:5])}, ..."
        )
    rows = {name: cases[task] for name, cases in record.cases.items() if task in cases}
    if cli.as_json:
        typer.echo(json.dumps({"task": known[task].model_dump(mode="json", exclude_defaults=True), "conditions": rows}))
        return 0
    _show_explanation(known[task], rows)
    return 0


def compare(
    cli: Invocation,
    first: Annotated[Path, typer.Argument(metavar="BEFORE")],
    second: Annotated[Path, typer.Argument(metavar="AFTER")],
    seed: Seed = 0,
) -> int:
    """Compare two runs question by question, and tell change from noise."""
    from recalld.evaluate import records
    from recalld.evaluate.comparison import compare as compared
    from recalld.evaluate.tables import chance

    found = compared(records.read(first), records.read(second), seed)
    if cli.as_json:
        typer.echo(json.dumps(found.plain()))
        return 0
    console = output.console()
    for difference in found.setups:
        console.print(f"[yellow]differs[/]: {output.plain(difference)}")
    table = output.table("condition", "metric", "before", "after", "change", "95 % of it", "questions", "by chance",
                         numbers=("before", "after", "change", "questions", "by chance"))  # fmt: skip
    for row in found.rows:
        mark = "[green]" if row.difference.low > 0 else "[red]" if row.difference.high < 0 else "[dim]"
        table.add_row(
            output.plain(row.condition), row.metric, f"{row.before:.3f}", f"{row.after:.3f}",
            f"{mark}{row.difference.value:+.3f}[/]", f"{row.difference.low:+.3f} to {row.difference.high:+.3f}",
            str(row.difference.count), chance(row.difference.chance),
        )  # fmt: skip
    console.print(table)
    for name, lost in found.lost.items():
        console.print(
            f"{output.plain(name)}: right before, wrong after: {output.plain(', '.join(lost[:10])) or 'none'}"
        )
    return 0


def schema(cli: Invocation) -> int:
    """Print the JSON schema of a task."""
    from recalld.evaluate.tasks import schema as task_schema

    typer.echo(json.dumps(task_schema(), indent=None if cli.as_json else 2))
    return 0


def chosen_tasks(path: Path, split: str | None) -> list[Task]:
    """Read the tasks, or those of one half. Raises UsageError."""
    from recalld.evaluate.tasks import read_tasks

    if split not in (None, "tune", "report"):
        raise UsageError(f"there is no split {split!r}", suggestion="use tune or report")
    chosen = [task for task in read_tasks(path) if split in (None, task.half)]
    if not chosen:
        raise UsageError(f"{path} has no task of the split {split}")
    return chosen


async def corpus_of(folder: Path | None, tasks: Path) -> Corpus:
    """Read the documents from the folder named, else from that beside the tasks. Raises UsageError, NotFoundError."""
    from recalld.evaluate.corpus import read_corpus

    beside = tasks.parent / "documents"
    if folder is None and not beside.is_dir():
        raise UsageError("which documents are asked about?", suggestion="name their folder with --corpus DIR")
    return await read_corpus(folder or beside)


def setup_of(cli: Invocation, assignments: Sequence[str] | None) -> Setup:
    """Return the settings that a run goes by: the daemon's, with what is set here."""
    from recalld.configuration import load
    from recalld.evaluate.manifest import Setup

    settings, _ = load(cli.config, flags_of(cli, list(assignments) if assignments else None))
    return Setup(settings.embed, settings.ingest, settings.recall, settings.trust)


def chosen_conditions(given: str | None) -> list[str]:
    """Return rungs by their names, in the ladder's order; all for None. Raises UsageError."""
    from recalld.evaluate.conditions import LADDER

    if given is None:
        return list(LADDER)
    names = [name.strip() for name in given.split(",") if name.strip()]
    unknown = [name for name in names if name not in LADDER]
    if unknown or not names:
        raise UsageError(
            f"there is no condition {', '.join(unknown) or 'at all'}", suggestion=f"there are {', '.join(LADDER)}"
        )
    return [name for name in LADDER if name in names]


def _report() -> Any:
    """Return what writes reports. Raises ConfigError before the work where its libraries are missing."""
    from recalld.evaluate import report

    report.require()
    return report


@asynccontextmanager
async def open_workbench(*, quiet: bool, lines: bool = False) -> AsyncIterator[Workbench]:
    """Open the workbench, with progress on stderr; where that is no terminal, ``lines`` has it told line by line.

    Raises RefusedError while another evaluation has it.
    """
    from recalld.evaluate.workbench import workbench
    from recalld.settings import default_cache_dir

    async with AsyncExitStack() as stack:
        try:
            bench = await stack.enter_async_context(workbench(default_cache_dir(), _progress(quiet, lines)))
        except StateHeldError as error:
            raise RefusedError(
                f"another evaluation is running: {error.message}",
                suggestion="wait for it, or give this one another cache with XDG_CACHE_HOME",
            ) from error
        yield bench


def _progress(quiet: bool, lines: bool) -> Progress:
    console = output.console(err=True)
    if quiet or (not console.is_terminal and not lines):
        return lambda *_: None
    return _bars(console) if console.is_terminal else _steps(console)


def _steps(console: Console) -> Progress:
    """Return what tells each combination on a line of its own."""
    begun = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        if what == COMBINATIONS:
            left = (time.monotonic() - begun) / done * (total - done) if done else 0.0
            console.print(f"{done} of {total} {what}" + (f", about {left / 60:.0f} min left" if left else ""))

    return tell


def _bars(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        console=console, transient=True,
    )  # fmt: skip
    shown: dict[str, Any] = {}

    def tell(what: str, done: int, total: int) -> None:
        if what not in shown:
            bar.start()
            shown[what] = bar.add_task(what, total=total)
        bar.update(shown[what], completed=done, total=total)
        if done >= total:
            bar.remove_task(shown.pop(what))
        if not shown:
            bar.stop()

    return tell


def show(done: Run, folder: Path, *, reported: bool) -> None:
    """Print the ladder, what each rung adds, where tasks were lost, and where the rest lies."""
    from recalld.evaluate.conditions import TRUST
    from recalld.evaluate.tables import comparisons, ladder, losses

    console = output.console()
    for build in (ladder, comparisons, losses):
        heading, columns, rows = build(done)
        if not rows:
            continue
        console.print(f"\n[bold]{heading}[/]")
        table = output.table(*columns, numbers=tuple(columns[1:]))
        for row in rows:
            table.add_row(*map(output.plain, row))
        console.print(table)
    for name, why in done.missing.items():
        console.print(f"[yellow]{output.plain(name)} was left out[/]: {output.plain(why)}")
    if TRUST in done.cases and done.manifest["calibration"].get("none"):
        why = output.plain(done.manifest["calibration"]["none"])
        console.print(f"[yellow]not calibrated[/], so +trust never abstains: {why}")
    console.print(f"\n{output.plain(str(folder / 'report.html') if reported else str(folder))}")


def _show_explanation(task: Task, rows: dict[str, Any]) -> None:
    console = output.console()
    gold = ", ".join(sorted(task.paths)) or "nothing: the memory cannot know"
    console.print(f"[bold]{output.plain(task.query)}[/]\nanswered by {output.plain(gold)}")
    stages = list(next(iter(rows.values()))["gold_rank"])
    table = output.table("condition", *stages, "lost", "served first", numbers=tuple(stages))
    for name, row in rows.items():
        ranks = [str(row["gold_rank"][stage] or "-") for stage in stages]
        first = (row["documents"]["answered"] or ["nothing"])[0]
        table.add_row(output.plain(name), *ranks, row["loss"], output.plain(first))
    console.print(table)
    console.print("[dim]the rank at each stage of the first document that answers it; - where none is there[/]")
