"""``recall calibrate --episodes``: fit to pairs of questions, and show what each threshold would serve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import ConfigError, TooLargeError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

_EVERY = 4
"""One in so many rows of the sweep is printed; `--json` has all."""


async def calibrate(cli: Invocation, labels: Path | None, plot: Path | None, dry_run: bool) -> int:
    """Fit, print the report, and draw the sweep where that is wanted."""
    from recalld.episodes.fit import read_pairs

    rows = [pair.model_dump() for pair in read_pairs(_text(labels))] if labels is not None else []
    async with cli.client() as client:
        try:
            reply = await client.calibrate_episodes(pairs=rows, dry_run=dry_run)
        except TooLargeError as error:
            raise TooLargeError(
                f"{len(rows):,} pairs do not fit into one request", suggestion="give fewer; some hundreds are enough"
            ) from error
    if plot is not None:
        draw(reply, plot)
    if cli.as_json:
        output.reply_json(reply)
    else:
        _show(reply, output.console())
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", suggestion="give pairs, one JSON a line") from error


def _show(reply: wire.CalibrateEpisodesReply, console: Console) -> None:
    report = reply.report
    kept = "" if reply.kept else " (dry run: nothing is kept)"
    console.print(
        f"fitted to {report.pairs} pairs of {len(report.topics)} topics, judged by {report.held_back} of"
        f" {len(report.held_topics)} others{kept}"
    )
    table = output.table("threshold", "false hits", "served", "held back: false hits", "held back: served")
    for number, row in enumerate(reply.sweep):
        if number % _EVERY == 0 or row.threshold == reply.threshold:
            mark = " <" if row.threshold == reply.threshold else ""
            shares = (row.false_hits, row.served, row.held_false_hits, row.held_served)
            table.add_row(f"{row.threshold:.2f}{mark}", *(f"{share:.1%}" for share in shares))
    console.print(table)
    console.print(
        f"[dim]an earlier answer is served from confidence {reply.threshold:.2f} on, where the words agree; the same"
        " words are always the same question[/]"
    )


def draw(reply: wire.CalibrateEpisodesReply, place: Path) -> None:
    """Draw the sweep. Raises ConfigError without matplotlib, UsageError where the file cannot be written."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError(
            "plots need matplotlib", suggestion="install recalld with the extra evaluate: recalld[evaluate]"
        ) from error
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axes = figure.subplots()
    thresholds = [row.threshold for row in reply.sweep]
    for name, colour, style, shares in (
        ("served, held back", "tab:green", "-", [row.held_served for row in reply.sweep]),
        ("served, fitted on", "tab:green", ":", [row.served for row in reply.sweep]),
        ("false hits, held back", "tab:red", "-", [row.held_false_hits for row in reply.sweep]),
        ("false hits, fitted on", "tab:red", ":", [row.false_hits for row in reply.sweep]),
    ):
        axes.step(thresholds, [100 * share for share in shares], style, where="post", color=colour, label=name)
    axes.axvline(reply.threshold, color="0.6", linewidth=1)
    axes.set(xlabel="confidence from which an answer is served", ylabel="% of pairs", ylim=(-2, 100))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(place, dpi=150)
    except (OSError, ValueError) as error:
        raise UsageError(f"{place} cannot be drawn: {error}", suggestion="name a .png, .svg or .pdf") from error
