"""``recall evaluate ablate | embedders``: what settings and embedders do, over one set of questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.evaluating import (
    RUNS,
    Conditions,
    CorpusFolder,
    NoReport,
    Out,
    Seed,
    Tasks,
    chosen_conditions,
    chosen_tasks,
    corpus_of,
    open_workbench,
    setup_of,
)  # fmt: skip
from recalld.cli.running import Assignments, pairs
from recalld.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from recalld.evaluate.ablation import Ablation
    from recalld.evaluate.embedder_study import Study
    from recalld.evaluate.finetune.study import Tuned

ABLATE_EXAMPLES = """
recall evaluate ablate --tasks questions.jsonl --corpus ~/notes
recall evaluate ablate --tasks questions.jsonl --corpus ~/notes --vary ingest.chunk_tokens=100,200,300 --by MRR
"""
EMBEDDERS_EXAMPLES = """
recall evaluate embedders --tasks questions.jsonl --corpus ~/notes
recall evaluate embedders --tasks questions.jsonl --corpus ~/notes --embedder minilm --embedder BAAI/bge-small-en-v1.5
"""
FINETUNE_EXAMPLES = "recall evaluate finetune ~/models/notes --tasks questions.jsonl --corpus ~/notes --epochs 3"
DEFAULT_GRID = ("ingest.policy=sections,sentences,fixed", "embed.model=minilm,hashing")
DEFAULT_CONDITIONS = "lexical,dense,hybrid,hybrid+late-interaction"
SHOWN, MOST = 20, 100

Vary = Annotated[
    list[str] | None,
    typer.Option("--vary", metavar="KEY=V,V", help="A setting and its values; may be repeated. All combinations run."),
]
Ks = Annotated[str, typer.Option("--ks", metavar="K,...", help="Places that are looked at.")]
By = Annotated[str, typer.Option("--by", metavar="METRIC", help="What settings are chosen by.")]
Hits = Annotated[int, typer.Option("--hits", min=1, max=100, help="Passages that are admitted.")]
Models = Annotated[
    list[str] | None,
    typer.Option("--embedder", metavar="NAME", help="One to look at; may be repeated. Else all that are here."),
]


async def ablate(
    cli: Invocation,
    tasks: Tasks,
    corpus: CorpusFolder = None,
    vary: Vary = None,
    conditions: Conditions = DEFAULT_CONDITIONS,
    ks: Ks = "1,3,5,10",
    hits: Hits = 20,
    by: By = "MRR",
    seed: Seed = 0,
    out: Out = RUNS,
    assignments: Assignments = None,
) -> int:
    """Try every combination of settings. They are ranked on the tasks of `tune` and judged on those of `report`.

    Chunk policy and embedder without --vary. What was stopped goes on where it was when the same command is run again.
    """
    from recalld.evaluate import ablation, records

    grid = ablation.Grid(_varied(vary or DEFAULT_GRID), chosen_conditions(conditions), _numbers(ks), hits, seed)
    chosen = chosen_tasks(tasks, None)
    ablation.require(chosen, by, grid.ks)
    records.require(out / "ablations")
    documents = await corpus_of(corpus, tasks)

    def setup(values: Mapping[str, str]) -> Any:
        return setup_of(cli, [*(assignments or ()), *(f"{key}={value}" for key, value in values.items())])

    at = datetime.now(UTC)
    async with open_workbench(quiet=cli.as_json, lines=True) as bench:
        cells = await ablation.ablate(bench, setup, grid, documents, chosen, out / "ablations", at)
    found = ablation.judged(cells, chosen, by, seed)
    if cli.as_json:
        typer.echo(json.dumps(asdict(found)))
    else:
        _show_ablation(found)
    return 0


def _show_ablation(found: Ablation) -> None:
    console = output.console()
    keys = list(found.base.settings)
    table = output.table(*keys, "condition", "chunks", "ms", f"{found.metric}, tune", "report", "against the first",
                         "95 % of it", numbers=("chunks", "ms", f"{found.metric}, tune", "report"))  # fmt: skip
    for row in found.rows[:SHOWN]:
        mark = "[green]" if row.difference.low > 0 else "[red]" if row.difference.high < 0 else "[dim]"
        table.add_row(
            *(output.plain(row.cell.settings[key]) for key in keys), output.plain(row.cell.condition),
            str(row.cell.chunks), f"{row.cell.took_ms:.1f}", f"{row.tune:.3f}", f"{row.report:.3f}",
            f"{mark}{row.difference.value:+.3f}[/]", f"{row.difference.low:+.3f} to {row.difference.high:+.3f}",
        )  # fmt: skip
    console.print(table)
    if len(found.rows) > SHOWN:
        console.print(f"[dim]and {len(found.rows) - SHOWN} more: --json has them all[/]")
    console.print(f"against the first of its condition; {found.rows[0].difference.count} tasks in the report half")


async def embedders(
    cli: Invocation,
    tasks: Tasks,
    corpus: CorpusFolder = None,
    models: Models = None,
    seed: Seed = 0,
    out: Out = RUNS,
    no_report: NoReport = False,
    assignments: Assignments = None,
) -> int:
    """Show where each embedder's scores lie, what a threshold fixed for all would cost, and what calibration gives."""
    from recalld.evaluate import embedder_study, records, report

    if not no_report:
        report.require()
    records.require(out / "embedders")
    chosen = chosen_tasks(tasks, None)
    documents = await corpus_of(corpus, tasks)
    setup, at = setup_of(cli, assignments), datetime.now(UTC)
    async with open_workbench(quiet=cli.as_json) as bench:
        asked = models or embedder_study.known_models(bench)
        found = await embedder_study.study(bench, setup, documents, chosen, asked, at, seed)
    folder = records.fresh_folder(out / "embedders", at)
    (folder / "study.json").write_text(json.dumps(asdict(found), indent=1), "utf-8")
    if not no_report:
        report.write_study(folder, found)
    if cli.as_json:
        typer.echo(json.dumps({"folder": str(folder), **asdict(found)}))
    else:
        _show_study(found, folder)
    return 0


def _show_study(found: Study, folder: Path) -> None:
    console = output.console()
    table = output.table("embedder", "score", "answerable 5-50-95 %", "others 5-50-95 %", "AUROC", "at",
                         "false abstain", "false confident", numbers=("AUROC", "at"))  # fmt: skip
    for one in found.regimes:
        yes, no = (" ".join(f"{value:.2f}" for value in values) for values in one.quantiles())
        area = "" if one.auroc is None else f"{one.auroc:.3f}"
        lead = [output.plain(one.embedder), one.signal, yes, no, area]
        for errors, name in [*((each, f"{each.threshold:g}") for each in one.errors), (one.best, "best*")]:
            table.add_row(*lead, name, f"{errors.false_abstain:.3f}", f"{errors.false_confident:.3f}")
            lead = [""] * len(lead)
    console.print(table)
    console.print("[dim]* the threshold with the fewest errors on these questions, which nobody knows beforehand[/]")
    for model, why in found.failed.items():
        console.print(f"[yellow]{output.plain(model)} is not calibrated[/]: {output.plain(why)}")
    asked = f"{found.questions['answerable']} answerable questions, {found.questions['others']} others"
    console.print(f"{asked}; in {output.plain(str(folder))}")


async def finetune(
    cli: Invocation,
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the new model goes; it must not be there.")],
    tasks: Tasks,
    corpus: CorpusFolder = None,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="How often each pair is seen.")] = 2,
    batch: Annotated[int, typer.Option("--batch", min=2, help="Pairs at once.")] = 16,
    rate: Annotated[float, typer.Option("--rate", min=0, help="The learning rate at its height.")] = 2e-5,
    seed: Seed = 0,
    assignments: Assignments = None,
) -> int:
    """Fine-tune the packaged embedder on the tasks of `tune`, and tell what that does to those of `report`.

    It often does nothing, and then it says so. Needs recalld[finetune] (torch, some gigabytes); runs on the CPU. What
    comes of it is used with `embed.model = "FOLDER"`.
    """
    from recalld.evaluate.finetune import study as tuning
    from recalld.evaluate.finetune.training import Schedule, require

    require()
    if target.exists():
        raise RefusedError(f"{target} is there already", suggestion="name a folder that is not")
    chosen = chosen_tasks(tasks, None)
    documents = await corpus_of(corpus, tasks)
    schedule = Schedule(epochs, batch, rate, seed)
    async with open_workbench(quiet=cli.as_json) as bench:
        at = datetime.now(UTC)
        found = await tuning.finetune(bench, setup_of(cli, assignments), documents, chosen, schedule, target, at)
    (target / "report.json").write_text(json.dumps(asdict(found), indent=1), "utf-8")
    if cli.as_json:
        typer.echo(json.dumps(asdict(found)))
    else:
        _show_tuned(found)
    return 0


def _show_tuned(found: Tuned) -> None:
    console = output.console()
    table = output.table("condition", "metric", "before", "after", "change", "95 % of it", "n", "by chance",
                         numbers=("before", "after", "change", "n", "by chance"))  # fmt: skip
    for one in found.effects:
        changed = one.difference
        table.add_row(
            one.condition, one.metric, f"{one.before:.3f}", f"{one.after:.3f}", f"{changed.value:+.3f}",
            f"{changed.low:+.3f} to {changed.high:+.3f}", str(changed.count), f"{changed.chance:.3f}",
        )  # fmt: skip
    console.print(table)
    losses = ", ".join(f"{loss:.3f}" for loss in found.losses)
    console.print(f"{found.pairs} pairs of the half `tune`; loss by epoch {losses}; judged on the half `report`")
    if all(one.difference.low <= 0 <= one.difference.high for one in found.effects):
        console.print("[yellow]no effect that these questions can tell from chance[/]: keep the packaged model")
    console.print(f"embed.model = {output.plain(json.dumps(found.model))}")


def _varied(given: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in given:
        for key, values in pairs([one]).items():
            found.setdefault(key, []).extend(part.strip() for part in values.split(",") if part.strip())
    empty = [key for key, values in found.items() if not values]
    if empty:
        raise UsageError(f"--vary {empty[0]}: no values", suggestion="write --vary ingest.chunk_tokens=100,200")
    return {key: list(dict.fromkeys(values)) for key, values in found.items()}


def _numbers(text: str) -> list[int]:
    try:
        found = sorted({int(part) for part in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1 or found[-1] > MOST:
        raise UsageError(f"--ks {text}: not numbers from 1 to {MOST}", suggestion="write --ks 1,5,10")
    return found
