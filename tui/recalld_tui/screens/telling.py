"""What is said of a passage and of an answer, in the inspector of the screen Recall."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recalld.bus import wire
from recalld_tui.inks import Inks
from recalld_tui.model.recall import (
    GOOD,
    Found,
    Passage,
    heading,
    passages,
    place,
    provenance,
    stages,
    standing,
    validity,
)
from recalld_tui.model.text import clean, line, milliseconds

CITED = r"\[\d+\]"


def ink_of(verdict: str, inks: Inks) -> str:
    """Return the style of a verdict."""
    return inks.word(verdict) if verdict in GOOD else inks.warn


def passage(hit: Passage, inks: Inks) -> RenderableType:
    """Tell a passage, how far it may be trusted, and where it is from."""
    top = Text.assemble((heading(hit), "bold"), (f"\n{place(hit)}\n", inks.link))
    top.append(hit.verdict, f"bold {ink_of(hit.verdict, inks)}")
    said = hit.text
    if isinstance(hit, wire.Citation):
        top.append(f"  {hit.confidence:.0%} sure" if hit.confidence is not None else "")
        return Group(top, Text(f"\n{clean(said)}\n"), _facts([("content", hit.content_hash[:16])], inks))
    top.append(f"  {hit.confidence:.0%} sure" if hit.confidence is not None else f"  score {hit.score:.3f}")
    if hit.reason:
        top.append(f"\n{line(hit.reason)}", inks.warn)
    return Group(top, Text(f"\n{clean(said)}\n"), _facts([*validity(hit), *provenance(hit)], inks))


def answer(words: str, reply: wire.AskReply | None, inks: Inks) -> RenderableType:
    """Tell an answer in prose, whole or as far as it is written, and then how it came about and how long it took."""
    said = Text(clean(words))
    said.highlight_regex(CITED, inks.link)
    if reply is None:
        return said.append("▌", inks.accent)
    facts = _facts(standing(reply), inks)
    for number, each in enumerate(reply.citations):
        facts.add_row(Text("" if number else "cites", inks.dim), Text(f"[{each.number}] {place(each)}", inks.link))
    steps = Table.grid(padding=(0, 2, 0, 0))
    steps.add_column()
    steps.add_column(justify="right")
    for step in reply.path:
        steps.add_row(
            Text(line(step.step)), Text(milliseconds(step.took_ms), inks.accent), Text(line(step.note), inks.dim)
        )
    top = Text("I don't know", f"bold {inks.warn}") if reply.abstained else said
    return Group(top, Text(""), facts, Text("\nPath", inks.accent), steps)


def trace(hit: Passage, reply: Found, inks: Inks) -> RenderableType:
    """Tell what each stage did with a passage, then what it did with all."""
    if not reply.trace:
        return Text("nothing was searched for: the answer is from memory", inks.dim)
    rows = Table.grid(padding=(0, 2, 0, 0))
    for one in passages(reply, hit.id):
        rank = Text(f"rank {one.rank}") if one.rank else Text("not ranked", inks.dim)
        score = f"{one.score:.3f}" if one.score is not None else ""
        rows.add_row(Text(one.stage, "bold"), rank, score, Text(line(one.dropped), inks.warn))
    return Group(Text(f"{place(hit)}\n", inks.link), rows, all_stages(reply, inks))


def all_stages(reply: Found, inks: Inks) -> RenderableType:
    """Tell how long each stage took, what it let through, and what it ranked highest."""
    text = Text()
    for stage in stages(reply):
        text.append(f"\n{stage.stage:<10}", f"bold {inks.accent}")
        text.append(f" {stage.entered} in, {stage.left} out", "").append(f"  {milliseconds(stage.took_ms)}\n")
        if stage.dropped:
            text.append(f"  dropped: {stage.dropped}\n", inks.warn)
        for number, (name, score) in enumerate(stage.best, start=1):
            text.append(f"  {number} {score:8.3f}  ", inks.dim).append(f"{name}\n")
    return text


def _facts(rows: list[tuple[str, str]], inks: Inks) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in rows:
        table.add_row(Text(name, inks.dim), Text(value))
    return table
