"""Two documents that are one: the same declared id, or nearly the same text as one that was replaced.

Texts are compared by their runs of five words (shingles: Broder, "On the resemblance and containment of documents",
1997). Only the runs that begin with a long word are kept, a sample that both texts draw alike, so that a whole memory
takes a fraction of a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from recalld.ingest.parse import Reading
from recalld.lint.catalogue import found
from recalld.lint.memory import Memory, line_of
from recalld.model import Finding
from recalld.trust.names import fold, stem_of
from recalld.trust.standing import Status

NEAR = 0.6
"""Jaccard similarity from which two texts are nearly the same."""
_RUN = 5
_LONG_WORD = 7
_SHORT_TEXT = 200
"""Of a text with fewer words than this, all runs are kept."""
_FEWEST_WORDS = 15
_EVERYWHERE = ("id", "uid")
_IN_ONE_FOLDER = ("adr", "pep", "rfc", "number", "slug")
_OVER = (Status.SUPERSEDED, Status.RETIRED)


def duplicate_ids(memory: Memory) -> Iterator[Finding]:
    """Yield every document but the first, by path, that declares an id. Numbers are unique in their folder."""
    first: dict[tuple[str, str, str], str] = {}
    for _, reading in sorted(memory.prose(), key=lambda each: each[1].document.path):
        path = reading.document.path
        for key in (*_EVERYWHERE, *_IN_ONE_FOLDER):
            value = reading.document.metadata.get(key)
            if not _is_id(value):
                continue
            folder = "" if key in _EVERYWHERE else path.rpartition("/")[0]
            holder = first.setdefault((key, folder, fold(str(value))), path)
            if holder != path:
                message = f"{key} {str(value)!r} is that of {holder}, too"
                yield found("duplicate-id", path, message, line=line_of(reading, key), key=key)


def _is_id(value: Any) -> bool:
    text = str(value).strip()
    return isinstance(value, str | int) and not isinstance(value, bool) and bool(text) and text[0] not in "<{"


def near_superseded(memory: Memory) -> Iterator[Finding]:
    """Yield the documents that stand and say nearly what a replaced or retired one says, unless they replaced it."""
    over = {id_: _shingles(memory.readings[id_]) for id_ in _replaced(memory)}
    holders: dict[int, list[int]] = {}
    for id_, shingles in over.items():
        for shingle in shingles:
            holders.setdefault(shingle, []).append(id_)
    if not holders:
        return
    for id_, reading in memory.prose():
        if id_ in over or not (own := _shingles(reading)):
            continue
        shared = Counter(old for shingle in own for old in holders.get(shingle, ()))
        for old, count in shared.most_common(1):
            alike = count / (len(own) + len(over[old]) - count)
            if alike >= NEAR and memory.stands(id_) and id_ not in _successors(memory, old):
                yield _near(memory, id_, old, alike)


def _replaced(memory: Memory) -> Iterator[int]:
    for id_, _ in memory.prose():
        status = memory.graph.members[id_].standing.status
        if status in _OVER or memory.graph.succession(id_, memory.now, None) is not None:
            yield id_


def _successors(memory: Memory, id_: int) -> set[int]:
    """Return the documents that replaced one, directly or by way of others."""
    found_: set[int] = set()
    pending = [id_]
    while pending:
        news = {link.new for link in memory.graph.links.get(pending.pop(), ()) if link.new is not None}
        pending.extend(news - found_)
        found_ |= news
    return found_


def _near(memory: Memory, id_: int, old: int, alike: float) -> Finding:
    path, replaced = (memory.readings[each].document.path for each in (id_, old))
    return found(
        "near-duplicate-of-superseded",
        path,
        f"{alike:.0%} of it is the text of {replaced}, which was replaced; this still holds",
        f"retire it as well, or write `supersedes: {stem_of(replaced)}` if it is the newer one",
    )


def _shingles(reading: Reading) -> frozenset[int]:
    """Return the sampled runs of words of a document's text, frontmatter left out."""
    start = max(reading.front.last, reading.last_header)
    body = (
        reading.lines.text[reading.lines.start(start + 1) :] if 0 < start < len(reading.lines) else reading.lines.text
    )
    words = body.casefold().split()
    if len(words) < _FEWEST_WORDS:
        return frozenset()
    long_word = _LONG_WORD if len(words) >= _SHORT_TEXT else 0
    starts = (n for n in range(len(words) - _RUN + 1) if len(words[n]) >= long_word)
    return frozenset(hash(tuple(words[n : n + _RUN])) for n in starts)
