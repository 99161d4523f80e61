"""``recall calibrate``: learn how sure the memory may be, and show how well that can be told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output, pairs
from recalld.cli.command import Invocation
from recalld.cli.labels import read_labels
from recalld.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

EXAMPLES = """
recall calibrate
recall calibrate --labels questions.jsonl --dry-run
recall calibrate --labels questions.csv --json
recall calibrate --episodes --plot sweep.png
"""
SUSPECTS_SHOWN = 10

Labels = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Questions as JSONL, JSON or CSV, each with `query` and `answerable`."),
]
Episodes = Annotated[
    bool,
    typer.Option("--episodes", help="How sure it may be that an earlier answer fits a question, from labelled pairs."),
]
Plot = Annotated[
    Path | None, typer.Option(metavar="FILE.png", help="Draw what each threshold would serve (with --episodes).")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Report, and keep nothing.")]


async def calibrate(
    cli: Invocation, labels: Labels = None, episodes: Episodes = False, plot: Plot = None, dry_run: DryRun = False
) -> int:
    """Learn how sure an answer must be before it is given.

    Without labels, from questions that the memory's own texts answer and from shipped ones that they do not. Exit
    status 4 when that would say more than is known.
    """
    if episodes:
        return await pairs.calibrate(cli, labels, plot, dry_run)
    if plot is not None:
        raise UsageError("--plot is drawn with --episodes", suggestion="`recall calibrate --episodes --plot FILE.png`")
    rows = read_labels(labels) if labels is not None else []
    async with cli.client() as client:
        reply = await client.calibrate(labels=rows, dry_run=dry_run)
    if cli.as_json:
        output.reply_json(reply)
    else:
        show(reply, output.console())
    return 0


def show(reply: wire.CalibrateReply, console: Console) -> None:
    """Print what was fitted, how well it tells the classes apart, and which questions look mislabelled."""
    source = "your labels" if reply.source == "labels" else "probe questions"
    kept = "" if reply.kept else " (dry run: nothing is kept)"
    console.print(f"calibrated with {source} over {reply.documents} documents{kept}")
    table = output.table("searches", "answerable", "others", "their edges", "separability", "false abstain",
                         "false confident", "certified", numbers=("answerable", "others"))  # fmt: skip
    for model in reply.models:
        table.add_row(
            model.kind,
            str(model.answerable),
            str(model.unanswerable),
            f"{model.low:.2f} / {model.high:.2f}",
            f"{model.auc:.3f} ({model.auc_interval[0]:.3f} to {model.auc_interval[1]:.3f})",
            f"{model.false_abstain:.1%}",
            f"{model.false_confident:.1%}",
            "yes" if model.certified else output.plain(f"no: {model.reason}"),
        )
    console.print(table)
    console.print("[dim]the threshold is confidence 0.50; rates are of questions that a fit has not seen[/]")
    for suspect in reply.suspects[:SUSPECTS_SHOWN]:
        label = "answerable" if suspect.answerable else "not answerable"
        aside = f", {output.plain(suspect.subject)}" if suspect.subject else ""
        console.print(
            f"[yellow]looks mislabelled[/]: {output.plain(suspect.query)} [dim]({label}, "
            f"yet {suspect.confidence:.0%} sure{aside})[/]"
        )
    if len(reply.suspects) > SUSPECTS_SHOWN:
        console.print(f"[dim]and {len(reply.suspects) - SUSPECTS_SHOWN} more: --json shows all[/]")
