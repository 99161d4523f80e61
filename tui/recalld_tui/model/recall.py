"""An answer as it is looked at: hits with what is said of each, and what every stage did with every passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld_tui.model.text import clean, counted, line

GOOD = ("ok", "unverified")
"""Verdicts of what may be believed."""
LEGS = ("dense", "lexical")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of when, and whether what is withheld is shown in full."""

    text: str
    as_of: datetime | None = None
    known_as_of: datetime | None = None
    repo: str | None = None
    k: int = 10


def place(hit: wire.Hit) -> str:
    """Return where a hit stands, as ``repo:path:first-last``."""
    return line(f"{hit.repo}:{hit.path}:{hit.lines[0]}-{hit.lines[1]}")


def heading(hit: wire.Hit) -> str:
    """Return title and headings, each once."""
    return line(" › ".join(dict.fromkeys((hit.title, *hit.heading))))


def validity(hit: wire.Hit) -> list[tuple[str, str]]:
    """Return what the document says of its own standing."""
    said = hit.validity
    rows = (
        ("status", said.status),
        ("valid from", said.valid_from),
        ("valid until", said.valid_until),
        ("superseded by", said.superseded_by),
        ("supersedes", ", ".join(said.supersedes)),
        ("stands for", hit.stands_for),
    )
    return [(name, line(value)) for name, value in rows if value]


def provenance(hit: wire.Hit) -> list[tuple[str, str]]:
    """Return where a hit's text comes from, exactly."""
    source = hit.provenance
    return [
        ("content", source.content_hash[:16]),
        ("commit", line(source.commit or "none")),
        ("indexed", source.indexed_at.isoformat(timespec="seconds")),
        ("first seen", source.first_indexed_at.isoformat(timespec="seconds")),
        ("by", line(source.agent or "unknown")),
    ]


def summary(reply: wire.SearchReply) -> str:
    """Return what came of a question in one line."""
    if reply.abstained:
        return line(f"I don't know: {reply.reason}")
    parts = [counted(len(reply.hits), "hit")]
    parts += [f"{len(reply.withheld)} withheld"] if reply.withheld else []
    parts += ["not calibrated"] if not reply.calibrated else []
    parts += [f"{reply.state}"] if reply.state != "ready" else []
    waiting = reply.freshness.pending + reply.freshness.stale
    parts += [f"{counted(waiting, 'file')} not indexed yet"] if waiting else []
    return ", ".join((*parts, *map(line, reply.notes)))


def evidence(hit: wire.Hit, reply: wire.SearchReply) -> str:
    """Return a hit as text to paste: the passage, where it stands, how far it may be trusted, and the receipt."""
    sure = f", {hit.confidence:.0%} sure" if hit.confidence is not None else ""
    quoted = "\n".join(f"> {each}" for each in clean(hit.text).split("\n"))
    facts = [
        quoted,
        "",
        f"Source: {place(hit)} (sha256 {hit.provenance.content_hash[:16]}, commit {hit.provenance.commit or 'none'})",
        f"Verdict: {hit.verdict}{sure}{f'; {line(hit.reason)}' if hit.reason else ''}",
        f"Indexed: {hit.provenance.indexed_at.isoformat(timespec='seconds')}",
    ]
    facts += [f"{name.capitalize()}: {value}" for name, value in validity(hit)]
    facts += [f"Receipt: {reply.receipt}"] if reply.receipt else []
    return "\n".join((*facts, f"Question: {line(reply.query)}")) + "\n"


@dataclass(frozen=True, slots=True)
class Passed:
    """What one stage did with a passage: its rank there (1-based) and score, or why it was dropped."""

    stage: str
    rank: int | None
    score: float | None
    dropped: str


def passages(reply: wire.SearchReply, id_: str) -> list[Passed]:
    """Return what each stage did with a passage, in order; stages that never saw it say so with neither."""
    told = []
    for stage in _in_order(reply):
        ranks = {chunk: (number, score) for number, (chunk, score) in enumerate(stage.ranking, start=1)}
        rank, score = ranks.get(id_, (None, None))
        told.append(Passed(stage.stage, rank, score, dict(stage.dropped).get(id_, "")))
    return told


@dataclass(frozen=True, slots=True)
class StageRow:
    """A stage in a line: its time, how many came in and went out, and why some were dropped."""

    stage: str
    took_ms: float
    entered: int
    left: int
    dropped: str
    best: tuple[tuple[str, float], ...]


def stages(reply: wire.SearchReply, best: int = 5) -> list[StageRow]:
    """Return the stages; ``best`` names what each ranked highest, by place where the passage is among the hits."""
    names = {hit.id: f"{line(hit.path)}:{hit.lines[0]}" for hit in (*reply.hits, *reply.withheld)}
    return [
        StageRow(
            stage.stage,
            stage.took_ms,
            stage.entered,
            stage.left,
            _reasons(stage.dropped),
            tuple((names.get(chunk, f"passage {chunk}"), score) for chunk, score in stage.ranking[:best]),
        )
        for stage in _in_order(reply)
    ]


def _in_order(reply: wire.SearchReply) -> list[wire.TraceStage]:
    """Return the stages, the legs among them by name: they run at once, and end now in this order, now in that."""
    trace = list(reply.trace or ())
    places = [number for number, stage in enumerate(trace) if stage.stage in LEGS]
    legs = sorted((trace[number] for number in places), key=lambda stage: stage.stage)
    for number, stage in zip(places, legs, strict=True):
        trace[number] = stage
    return trace


def _reasons(dropped: Sequence[tuple[str, str]]) -> str:
    counts: dict[str, int] = {}
    for _, reason in dropped:
        counts[reason] = counts.get(reason, 0) + 1
    return ", ".join(f"{number} {line(reason)}" for reason, number in counts.items())
