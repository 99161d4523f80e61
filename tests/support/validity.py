"""Memories in tests, as a few lines of text: parsed by the real parser, judged without a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from recalld.trust.graph import Graph, Member
from recalld.trust.members import member
from recalld.trust.verdict import Judgement, Moment, judge
from tests.support.parsing import read

NOW = datetime(2026, 8, 19, tzinfo=UTC)


def day(text: str) -> datetime:
    """The first moment of a day, UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def graph_of(files: Mapping[str, str], since: Mapping[str, str] | None = None) -> Graph:
    """The graph of files by path; ``since`` says on which day a file, and all that it claims, became known."""
    known = {path: day(text) for path, text in (since or {}).items()}
    return Graph(_member(number, path, text, known.get(path)) for number, (path, text) in enumerate(files.items()))


def _member(number: int, path: str, text: str, known: datetime | None) -> Member:
    parsed = read(text, path)
    edges = [(edge, known) for edge in parsed.edges]
    return member(number, "memory", path, parsed.title, parsed.aliases, parsed.metadata, edges, known)


def by_path(graph: Graph, path: str) -> Member:
    [found] = [each for each in graph.members.values() if each.path == path]
    return found


def judged(graph: Graph, path: str, as_of: datetime = NOW, known: datetime | None = None) -> Judgement:
    """The verdict on a file of which the search is sure."""
    return judge(by_path(graph, path), graph, Moment(as_of, known), 0.9)


def verdict(graph: Graph, path: str, as_of: datetime = NOW, known: datetime | None = None) -> tuple[str, str | None]:
    """The verdict, and the path of the successor."""
    judgement = judged(graph, path, as_of, known)
    successor = None if judgement.successor is None else graph.members[judgement.successor].path
    return judgement.verdict, successor
