"""The answerer that needs no model: it quotes the sentences that speak most of what is asked, and cites them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from recalld.agreement import stems
from recalld.episodes.evidence import Evidence, Passage, turned_down
from recalld.episodes.form import Form, Scope
from recalld.episodes.gate import Asked
from recalld.episodes.sentences import bare, statements
from recalld.episodes.synonyms import LIGHT
from recalld.model import Vector
from recalld.trust.verdict import Verdict

NAME = "extractive"
Embed: TypeAlias = "Callable[[Sequence[str]], Awaitable[Sequence[Vector]]]"

LOOKED_AT = 16
"""Sentences that are embedded; the others have too few words of the question."""
_WORDS = 0.5
"""What words in common count beside the cosine."""
_RANK = 0.12
"""What the last passage lacks against the first."""
_NEAR, _NEAR_LISTED = 0.93, 0.7
"""A further sentence is quoted where it has this share of the best one's score."""
_MOST, _MOST_LISTED = 2, 8
_SHORTEST = 3
_LAST = 3.0
"""What the words of the last question count where several are asked in one: the others were answered before."""
_MOST_OF = 0.5
_NO = 0.6
_SAYS_NO = re.compile(
    r"(?i)\b(?:sa(?:id|y) no|reject\w*|declin\w*|turned (?:it )?down|withdr[ae]w\w*|abandon\w*|decided against)\b"
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage, by its number, and how much it speaks of the question."""

    number: int
    text: str
    score: float


async def extract(question: str, vector: Vector, form: Form, evidence: Evidence, embed: Embed) -> str:
    """Return an answer made of quotes; empty where no sentence says anything.

    ``vector`` is the question's; ``embed`` embeds sentences in the same space.
    """
    candidates = _candidates(question, evidence.passages)
    if not candidates:
        return ""
    vectors = await embed([one.text for one in candidates])
    refused = {one.number for one in evidence.passages if turned_down(one.judged)}
    scored = [
        Quote(one.number, one.text, one.score * _WORDS + float(np.dot(vector, sentence)) + _said_no(one, refused))
        for one, sentence in zip(candidates, vectors, strict=True)
    ]
    chosen = _chosen(sorted(scored, key=lambda one: -one.score), form)
    lines = [_line(one, one.number in refused) for one in chosen]
    return "\n".join(f"- {line}" for line in lines) if len(lines) > 1 else lines[0]


def _line(quote: Quote, refused: bool) -> str:
    """Return a quote with its citation; one of a passage that was turned down says so, wherever it ranks."""
    said = f"“{quote.text}” [{quote.number}]"
    return f"The memory has this as turned down: {said}" if refused else said


def _said_no(quote: Quote, refused: Container[int]) -> float:
    """Return what a sentence that says no counts more in a passage of something that was turned down."""
    return _NO if quote.number in refused and _SAYS_NO.search(quote.text) else 0.0


def _candidates(question: str, passages: Sequence[Passage]) -> list[Quote]:
    """Return the sentences with most of the question's words, rarer ones counting more, each with its share."""
    wanted = stems(question)
    found = [
        (passage.number, rank, bare(sentence))
        for rank, passage in enumerate(passages)
        for sentence in statements(passage.text)
        if not sentence.startswith("#") and len(bare(sentence).split()) >= _SHORTEST
    ]
    about = {passage.number: stems(_about(passage)) for passage in passages}
    speaking = {one.number for one in passages if _speaks_of(question, one)}
    held = [stems(text) for _, _, text in found]
    spread = Counter(stem for each in held for stem in each & wanted)
    asked_last = stems(question.rstrip("?! ").rpartition("?")[2])
    weights = {
        stem: math.log(1 + len(found) / (1 + spread[stem])) * (_LAST if stem in asked_last else 1.0) for stem in wanted
    }
    whole = sum(weights.values()) or 1.0
    quotes = []
    for (number, rank, text), own in zip(found, held, strict=True):
        share = sum(weights[stem] * (1.0 if stem in own else 0.5 * (stem in about[number])) for stem in wanted) / whole
        if number in speaking:
            quotes.append(Quote(number, text, share - _RANK * rank / max(1, len(passages) - 1)))
    return sorted(quotes, key=lambda one: -one.score)[:LOOKED_AT]


def _speaks_of(question: str, passage: Passage) -> bool:
    """Tell whether a passage may answer; where nothing measured that, it must have half of its carrying words."""
    if passage.judged.judgement.verdict is not Verdict.UNVERIFIED:
        return True
    said = stems(passage.judged.hit.chunk.passage)
    carried = [stem for stem in Asked(question).carried if stem not in LIGHT]
    return not carried or sum(stem in said for stem in carried) >= _MOST_OF * len(carried)


def _about(passage: Passage) -> str:
    chunk = passage.judged.hit.chunk
    return " ".join((chunk.title, *chunk.heading))


def _chosen(ranked: Sequence[Quote], form: Form) -> list[Quote]:
    """Return the best quotes, in the order of their passages where it is a list."""
    listing = form.scope is Scope.SET
    near, most = (_NEAR_LISTED, _MOST_LISTED) if listing else (_NEAR, _MOST)
    chosen: list[Quote] = []
    for quote in ranked:
        if len(chosen) < most and quote.score >= near * ranked[0].score and not _said(quote, chosen):
            chosen.append(quote)
    return sorted(chosen, key=lambda one: one.number) if listing else chosen


def _said(quote: Quote, chosen: Sequence[Quote]) -> bool:
    own = stems(quote.text)
    return any(own <= stems(other.text) for other in chosen)
