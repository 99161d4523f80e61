"""Evidence: the passages that an answer may rely on, under an exact budget of tokens.

A budget is kept to the token: labels and blank lines are counted, and the whole text as it is rendered. A passage that
does not fit is cut, at a sentence where that leaves little unused, and says so. No evidence is one thing, evidence that
it is not so is another: a rejected proposal answers "do we use it?" with no.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from recalld.agreement import stems
from recalld.episodes.form import form_of
from recalld.episodes.sentences import pieces
from recalld.recall.answer import Judged
from recalld.recall.context import Context
from recalld.trust.receipts import Citation
from recalld.trust.standing import Status, standing_of

Count = Callable[[str], int]
"""The tokens of a text, exactly, as whoever reads the evidence counts them."""

_WORDS = re.compile(r"\s*\S+")
WORTH = 0.06
"""A cut passage is taken where it has this share of the budget at least; the first one always."""
FULL = 0.9
"""A passage is cut within a sentence rather than leave more than the rest of the budget unused."""
_TURNED_DOWN = ("reject", "declin", "withdraw", "abandon", "cancel", "rechaz")


class Stance(StrEnum):
    """What the evidence says of what is asked."""

    NONE = "none"
    SUPPORTS = "supports"
    NEGATIVE = "negative"


class Order(StrEnum):
    """How passages are laid out: best first, or the best at both ends, where models read closest."""

    RANK = "rank"
    ENDS = "ends"


@dataclass(frozen=True, slots=True)
class Passage:
    """An admitted passage: its ``number`` in the text, what it shows, and whether it was ``cut``."""

    number: int
    judged: Judged
    text: str
    cut: bool = False

    @property
    def label(self) -> str:
        """The line above the passage: where it is from, and how far it may be trusted."""
        chunk = self.judged.hit.chunk
        heading = f" · {' › '.join(chunk.heading)}" if chunk.heading else ""
        status = standing_of(chunk.metadata).written
        said = f" · status: {' '.join(status.split())}" if status else ""
        cut = " · cut" if self.cut else ""
        place = f"{chunk.repo}:{chunk.path}:{chunk.lines[0]}-{chunk.lines[1]}"
        return f"[{self.number}] {place}{heading} · {self.judged.judgement.verdict}{said}{cut}"


@dataclass(frozen=True, slots=True)
class Dropped:
    """A passage that was left out, and why: ``duplicate``, ``budget``, or ``metadata`` for bare frontmatter."""

    judged: Judged
    why: str
    reason: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Passages in the order in which ``text`` shows them; ``tokens`` is what the whole text takes."""

    stance: Stance
    passages: Sequence[Passage]
    dropped: Sequence[Dropped]
    text: str
    tokens: int


def assemble(
    hits: Sequence[Judged], budget: int, count: Count, order: Order = Order.RANK, question: str = ""
) -> Evidence:
    """Return as much of the hits, best first, as the budget holds."""
    page = _Page(budget, count)
    dropped: list[Dropped] = []
    context = Context(len(hits))
    telling = [judged for judged in hits if not _is_metadata(judged)] or list(hits)
    dropped += [
        Dropped(judged, "metadata", "its label says it") for judged in hits if not any(judged is one for one in telling)
    ]
    for judged in telling:
        repeated = context.offer(judged.hit.chunk)
        if repeated is not None:
            dropped.append(Dropped(judged, "duplicate", repeated))
        elif not page.take(judged):
            dropped.append(Dropped(judged, "budget", f"it does not fit into {budget} tokens"))
    laid = _laid_out(page.admitted, order)
    while laid and count(render(laid)) > budget:  # what pieces take need not add up
        last = max(laid, key=lambda one: hits.index(one.judged))
        dropped.append(Dropped(last.judged, "budget", f"it does not fit into {budget} tokens"))
        laid = _numbered([one for one in laid if one is not last])
    text = render(laid)
    best = sorted((one.judged for one in laid), key=hits.index)
    return Evidence(stance_of(best, question), laid, dropped, text, count(text) if laid else 0)


def render(passages: Sequence[Passage]) -> str:
    """Return the passages as a model reads them."""
    return "\n\n".join(f"{one.label}\n{one.text}" for one in passages)


def stance_of(hits: Sequence[Judged], question: str) -> Stance:
    """Return what the best hit says of what is asked.

    A proposal that was turned down says no to "do we ...?", where it speaks of the same; to any other question it is a
    passage like others.
    """
    if not hits:
        return Stance.NONE
    if form_of(question).asks != "yes or no" or stems(question).isdisjoint(stems(hits[0].hit.chunk.passage)):
        return Stance.SUPPORTS
    return Stance.NEGATIVE if turned_down(hits[0]) else Stance.SUPPORTS


def turned_down(judged: Judged) -> bool:
    """Tell whether a passage is of a proposal that was rejected, withdrawn or the like."""
    standing = standing_of(judged.hit.chunk.metadata)
    return standing.status is Status.UNADOPTED and standing.written.strip().lower().startswith(_TURNED_DOWN)


def sources_of(hits: Sequence[Judged]) -> list[Citation]:
    """Return the documents that hits are of, each once, as an answer relies on them."""
    chunks = {one.hit.chunk.document_id: one.hit.chunk for one in hits}
    return [
        Citation(id_, chunk.repo, chunk.path, chunk.content_hash, standing_of(chunk.metadata).valid_until)
        for id_, chunk in chunks.items()
    ]


def _is_metadata(judged: Judged) -> bool:
    """Tell whether a passage is frontmatter and nothing else."""
    chunk = judged.hit.chunk
    text = chunk.text.strip()
    return chunk.lines[0] == 1 and text.startswith("---\n") and text.endswith("\n---")


def _unseen(judged: Judged, admitted: Sequence[Passage]) -> str:
    """Return a passage without the lines that an admitted one of its document shows."""
    chunk = judged.hit.chunk
    lines = chunk.text.split("\n")
    if len(lines) != chunk.lines[1] - chunk.lines[0] + 1:
        return chunk.text
    shown = {
        number
        for one in admitted
        if one.judged.hit.chunk.document_id == chunk.document_id and not one.cut
        for number in range(one.judged.hit.chunk.lines[0], one.judged.hit.chunk.lines[1] + 1)
    }
    left = [line for number, line in enumerate(lines, chunk.lines[0]) if number not in shown]
    return "\n".join(left) if any(line.strip() for line in left) else chunk.text


class _Page:
    """Passages on their way into a budget. What each takes is counted by itself, with the blank line before it."""

    def __init__(self, budget: int, count: Count) -> None:
        self._budget = budget
        self._count = count
        self._around = count("")
        self._used = self._around
        self.admitted: list[Passage] = []

    def take(self, judged: Judged) -> bool:
        """Admit a hit, whole or cut; tell whether it fits, and is worth it."""
        whole = Passage(len(self.admitted) + 1, judged, _unseen(judged, self.admitted))
        passage = whole if self._fits(whole) else self._cut_to_fit(whole)
        if passage is None:
            return False
        self._used += self._takes(passage)
        self.admitted.append(passage)
        return True

    def _cut_to_fit(self, whole: Passage) -> Passage | None:
        """Cut at a sentence; where that leaves much of the budget unused, at a word, and what has no words anywhere."""
        worth = WORTH * self._budget if self.admitted else 0
        if self._budget - self._used < worth:
            return None
        cut = self._cut(whole, pieces(whole.text))
        if cut is None or self._used + self._takes(cut) < FULL * self._budget:
            cut = self._cut(whole, _WORDS.findall(whole.text)) or cut
        if cut is None and not self.admitted:
            cut = self._cut(whole, whole.text)
        return cut if cut is not None and _says_something(cut) and self._takes(cut) >= worth else None

    def _cut(self, passage: Passage, parts: Sequence[str]) -> Passage | None:
        """Return the passage with as many of its first parts as fit."""
        low, high = 0, len(parts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._fits(_shortened(passage, parts[:middle])):
                low = middle
            else:
                high = middle - 1
        return _shortened(passage, parts[:low]) if low else None

    def _fits(self, passage: Passage) -> bool:
        return self._used + self._takes(passage) <= self._budget

    def _takes(self, passage: Passage) -> int:
        before = "\n\n" if self.admitted else ""
        return self._count(before + render([passage])) - self._around


def _says_something(passage: Passage) -> bool:
    return any(character.isalnum() for character in passage.text)


def _shortened(passage: Passage, parts: Sequence[str]) -> Passage:
    return replace(passage, text=f"{''.join(parts)} […]", cut=True)


def _laid_out(passages: Sequence[Passage], order: Order) -> list[Passage]:
    if order is Order.RANK:
        return list(passages)
    return _numbered([*passages[::2], *reversed(passages[1::2])])


def _numbered(passages: Sequence[Passage]) -> list[Passage]:
    return [replace(one, number=number) for number, one in enumerate(passages, 1)]
