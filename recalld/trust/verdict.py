"""The verdict on a hit: whether its document may be believed, at the two clocks of the question.

A pure function of values. First match wins, in the order of the design: metadata that cannot be read, not yet known,
an ambiguous claim on it, superseded, retired, expired, not yet valid, low confidence, ok.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from recalld.trust.graph import Ambiguous, Graph, Member, Succession
from recalld.trust.standing import Status

THRESHOLD = 0.5
"""A calibrated confidence below this is too low to answer with."""


class Verdict(StrEnum):
    """Whether a hit may be believed, and if not, why. ``unverified``: valid, but nothing measured how sure it is."""

    INVALID_METADATA = "invalid_metadata"
    NOT_YET_KNOWN = "not_yet_known"
    AMBIGUOUS_SUPERSESSION = "ambiguous_supersession"
    SUPERSEDED = "superseded"
    RETIRED = "retired"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    LOW_CONFIDENCE = "low_confidence"
    NOT_ENTAILED = "not_entailed"
    OK = "ok"
    UNVERIFIED = "unverified"

    @property
    def answers(self) -> bool:
        """Tell whether a hit of this verdict is an answer."""
        return self in (Verdict.OK, Verdict.UNVERIFIED)


@dataclass(frozen=True, slots=True)
class Moment:
    """The two clocks: what was valid at ``as_of``, by what the memory knew at ``known_as_of`` (None: all it knows)."""

    as_of: datetime
    known_as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, why, and the document that took the place of this one (None: none, or unknown)."""

    verdict: Verdict
    reason: str = ""
    successor: int | None = None


def judge(document: Member, graph: Graph, moment: Moment, confidence: float | None) -> Judgement:
    """Judge a hit by its document's standing, then by its calibrated ``confidence`` (None: nothing is calibrated)."""
    standing = judge_standing(document, graph, moment)
    return judge_confidence(confidence) if standing is None else standing


def judge_confidence(confidence: float | None) -> Judgement:
    """Judge hits whose documents stand, by the best confidence among them."""
    if confidence is None:
        return Judgement(Verdict.UNVERIFIED)
    if confidence < THRESHOLD:
        return Judgement(Verdict.LOW_CONFIDENCE, "it is too far from the question")
    return Judgement(Verdict.OK)


def judge_standing(document: Member, graph: Graph, moment: Moment) -> Judgement | None:
    """Judge a document by what it and others say of it; None where it stands."""
    as_of, known = moment.as_of, moment.known_as_of
    standing = document.standing
    if standing.problem:
        return Judgement(Verdict.INVALID_METADATA, standing.problem)
    if known is not None and document.known_since is not None and document.known_since > known:
        return Judgement(Verdict.NOT_YET_KNOWN, f"the memory knows it since {document.known_since:%Y-%m-%d}")
    if unclear := graph.unresolved(document.id, as_of, known):
        return Judgement(Verdict.AMBIGUOUS_SUPERSESSION, _on_ambiguity(unclear, graph))
    if succession := graph.succession(document.id, as_of, known):
        return _superseded(succession, graph)
    return _by_status(document, graph, as_of) or _by_window(document, as_of)


def _superseded(succession: Succession, graph: Graph) -> Judgement:
    direct = succession.direct
    if direct.new is None:
        words = f"it says that {direct.name!r} replaced it, which is not in this memory"
        return Judgement(Verdict.SUPERSEDED, words)
    if succession.circular:
        circle = f"its successor {graph.members[direct.new].path} leads back to it in a circle"
        return Judgement(Verdict.AMBIGUOUS_SUPERSESSION, circle)
    if succession.terminal is None:
        gone = f"superseded by {graph.members[direct.new].path}, which was replaced by what is not in this memory"
        return Judgement(Verdict.SUPERSEDED, gone)
    terminal = graph.members[succession.terminal]
    words = f"superseded by {terminal.path}"
    if terminal.id != direct.new:
        words += f", by way of {graph.members[direct.new].path}"
    if succession.others:
        words += f"; {', '.join(graph.members[id_].path for id_ in succession.others)} replaced it, too"
    words += "; both files say so" if succession.agreed else f"; {graph.members[direct.by].path} alone says so"
    return Judgement(Verdict.SUPERSEDED, words, succession.terminal)


def _by_status(document: Member, graph: Graph, as_of: datetime) -> Judgement | None:
    """Judge a status that says the document is over; a successor that is valid only later says since when."""
    standing = document.standing
    if graph.awaits_successor(document.id, as_of):
        return None
    if standing.status is Status.SUPERSEDED:
        return Judgement(Verdict.SUPERSEDED, f"its status says {standing.written!r}, and no successor was found")
    if standing.status is Status.RETIRED:
        return Judgement(Verdict.RETIRED, f"its status says {standing.written!r}")
    return None


def _by_window(document: Member, as_of: datetime) -> Judgement | None:
    start, end = document.standing.valid_from, document.standing.valid_until
    if end is not None and as_of > end:
        return Judgement(Verdict.EXPIRED, f"it was valid until {end:%Y-%m-%d}")
    if start is not None and as_of < start:
        return Judgement(Verdict.NOT_YET_VALID, f"it is valid from {start:%Y-%m-%d}")
    return None


def _on_ambiguity(unclear: Ambiguous, graph: Graph) -> str:
    by = graph.members[unclear.by].path
    which = " or ".join(graph.members[id_].path for id_ in unclear.matches)
    return f"{by} says {unclear.claim.kind} {unclear.claim.target!r}, which may be {which}"
