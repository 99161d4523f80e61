"""The guardrails of one repo that stand now, ready to be matched. Pure.

What is superseded, expired, retired or only proposed guides nobody: validity decides first, and of two that fit alike
the newer one comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.analyze import Analyzer
from recalld.ingest.parse import read
from recalld.ingest.sources import Sources
from recalld.lessons.extract import Guided, guided
from recalld.lessons.guardrail import Guardrail
from recalld.lessons.match import Gate, Matcher, Prepared, prepare
from recalld.store.guides import Guide
from recalld.trust.graph import Graph
from recalld.trust.standing import Status
from recalld.trust.verdict import Moment, judge_standing

Key = tuple[str, str, str, bool, float]


@dataclass(frozen=True, slots=True)
class Page:
    """What one document guides, analyzed."""

    said: Guided
    prepared: tuple[Prepared, ...]


@dataclass(frozen=True, slots=True)
class Book:
    """A repo's guardrails. ``turns_at`` is when the clock next changes which of them stand, None if never."""

    matcher: Matcher
    standing: tuple[Guardrail, ...]
    proposed: int
    turns_at: datetime | None
    pages: Mapping[Key, Page]

    def has_turned(self, now: datetime) -> bool:
        """Tell whether the clock has changed since which guardrails stand."""
        return self.turns_at is not None and now > self.turns_at


def make_book(
    guides: Sequence[Guide],
    graph: Graph,
    sources: Sources,
    now: datetime,
    known: Mapping[Key, Page],
    gate: Gate | None = None,
) -> Book:
    """Return the book of a repo; ``known`` are pages of an earlier one, taken over where a document is the same."""
    analyzer = Analyzer()
    pages: dict[Key, Page] = {}
    in_force: list[tuple[Guide, Page]] = []
    proposed = 0
    for guide in guides:
        key = _key(guide, sources)
        page = pages[key] = known.get(key) or _page(guide, sources, analyzer)
        if judge_standing(graph.members[guide.id], graph, Moment(now)) is not None:
            continue
        if graph.members[guide.id].standing.status is Status.UNADOPTED:
            proposed += bool(page.prepared)
        elif sources.weight(guide.kind) > 0:
            in_force.append((guide, page))
    in_force.sort(key=lambda one: one[0].modified_at or one[0].first_indexed_at, reverse=True)
    matcher = Matcher([ready for _, page in in_force for ready in page.prepared], gate)
    return Book(matcher, _standing(in_force), proposed, _turns_at(graph, guides, now), pages)


def _key(guide: Guide, sources: Sources) -> Key:
    by_paragraph = sources.paragraphs.match_file(guide.path)
    return guide.path, guide.content_hash, guide.kind, by_paragraph, sources.weight(guide.kind)


def _page(guide: Guide, sources: Sources, analyzer: Analyzer) -> Page:
    reading = read(guide.path, guide.text.encode("utf-8", "surrogateescape"), sources.kind_of)
    said = guided(reading, by_paragraph=sources.paragraphs.match_file(guide.path), weight=sources.weight(guide.kind))
    return Page(said, tuple(prepare(one, analyzer) for one in said.guardrails))


def _standing(in_force: Sequence[tuple[Guide, Page]]) -> tuple[Guardrail, ...]:
    """Return what to tell at a beginning, in order: what is pinned, rules, and what was learnt most often."""
    ranked = sorted(
        ((page.said, one) for _, page in in_force for one in page.said.guardrails),
        key=lambda said: (not said[0].pinned, said[1].kind != "rule", -said[0].seen),
    )
    return tuple(one for _, one in ranked)


def _turns_at(graph: Graph, guides: Sequence[Guide], now: datetime) -> datetime | None:
    standings = (graph.members[guide.id].standing for guide in guides)
    times = (time for one in standings for time in (one.valid_from, one.valid_until) if time is not None)
    return min((time for time in times if time >= now), default=None)
