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
SOURCES = {
    "memory": "from memory",
    "retrieval": "derived anew",
    "reconciled": "weighed against memory",
    "abstained": "no answer",
}
"""Where an answer in prose comes from, in words."""

Passage = wire.Hit | wire.Citation
Found = wire.SearchReply | wire.AskReply


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of when, and whether what is withheld is shown in full."""

    text: str
    as_of: datetime | None = None
    known_as_of: datetime | None = None
    repo: str | None = None
    k: int = 10


def place(hit: Passage) -> str:
    """Return where a hit stands, as ``repo:path:first-last``."""
    return line(f"{hit.repo}:{hit.path}:{hit.lines[0]}-{hit.lines[1]}")


def heading(hit: Passage) -> str:
    """Return title and headings, each once."""
    return line(" › ".join(dict.fromkeys((hit.title, *hit.heading))))


def passages_of(reply: Found | None) -> tuple[Passage, ...]:
    """Return what was found, or what an answer cites."""
    if isinstance(reply, wire.SearchReply):
        return (*reply.hits, *reply.withheld)
    return reply.citations if reply is not None else ()


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


def summary(reply: Found) -> str:
    """Return what came of a question in one line."""
    if reply.abstained:
        return line(f"I don't know: {reply.reason}")
    if isinstance(reply, wire.SearchReply):
        parts = [counted(len(reply.hits), "hit")]
        parts += [f"{len(reply.withheld)} withheld"] if reply.withheld else []
    else:
        parts = [SOURCES[reply.source], counted(len(reply.citations), "citation")]
        parts += [f"{reply.confidence:.0%} sure"] if reply.confidence is not None else []
    parts += ["not calibrated"] if reply.calibrated is False else []
    parts += [f"{reply.state}"] if reply.state != "ready" else []
    waiting = reply.freshness.pending + reply.freshness.stale
    parts += [f"{counted(waiting, 'file')} not indexed yet"] if waiting else []
    return ", ".join((*parts, *map(line, reply.notes)))


def evidence(hit: Passage, reply: Found) -> str:
    """Return a passage as text to paste: its words, where it stands, how far it may be trusted, and the receipt."""
    sure = f", {hit.confidence:.0%} sure" if hit.confidence is not None else ""
    quoted = "\n".join(f"> {each}" for each in clean(hit.text).split("\n"))
    facts = [quoted, "", f"Source: {place(hit)} ({_version(hit)})"]
    reason = f"; {line(hit.reason)}" if isinstance(hit, wire.Hit) and hit.reason else ""
    facts += [f"Verdict: {hit.verdict}{sure}{reason}"]
    if isinstance(hit, wire.Hit):
        facts += [f"Indexed: {hit.provenance.indexed_at.isoformat(timespec='seconds')}"]
        facts += [f"{name.capitalize()}: {value}" for name, value in validity(hit)]
    facts += [f"Receipt: {reply.receipt}"] if reply.receipt else []
    return "\n".join((*facts, f"Question: {line(reply.query)}")) + "\n"


def _version(hit: Passage) -> str:
    if isinstance(hit, wire.Citation):
        return f"sha256 {hit.content_hash[:16]}"
    return f"sha256 {hit.provenance.content_hash[:16]}, commit {hit.provenance.commit or 'none'}"


def confidence(reply: wire.AskReply) -> str:
    """Return how sure the memory is of what an answer relies on, in words."""
    return "not known: not calibrated" if reply.confidence is None else f"{reply.confidence:.0%}"


def standing(reply: wire.AskReply) -> list[tuple[str, str]]:
    """Return how an answer came about, as names and words."""
    by = f"{reply.answerer}, quoted" if reply.quoted else reply.answerer
    similar = f"{reply.memory_similarity:.0%} alike" if reply.memory_similarity is not None else ""
    fits = f"{reply.memory_confidence:.0%} sure that it fits" if reply.memory_confidence is not None else ""
    rows = (
        ("source", SOURCES[reply.source]),
        ("sure", "" if reply.abstained else confidence(reply)),
        ("by", "" if reply.abstained else by),
        ("taken as", reply.standalone if reply.standalone != reply.query else ""),
        ("why", reply.reason),
        ("earlier question", ", ".join(each for each in (similar, fits) if each)),
        ("no longer stood", reply.stale),
    )
    return [(name, line(words)) for name, words in rows if words]


@dataclass(frozen=True, slots=True)
class Passed:
    """What one stage did with a passage: its rank there (1-based) and score, or why it was dropped."""

    stage: str
    rank: int | None
    score: float | None
    dropped: str


def passages(reply: Found, id_: str) -> list[Passed]:
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


def stages(reply: Found, best: int = 5) -> list[StageRow]:
    """Return the stages; ``best`` names what each ranked highest, by place where the passage is among the hits."""
    names = {hit.id: f"{line(hit.path)}:{hit.lines[0]}" for hit in passages_of(reply)}
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


def _in_order(reply: Found) -> list[wire.TraceStage]:
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
