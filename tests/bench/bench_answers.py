"""The trust layer: what it costs, what it loses, and what it keeps from being served.

Each question is asked of retrieval alone and of the whole answer, in turns. Off is what retrieval returns; on is what
is an answer after verdicts and calibrated confidence, with the receipt kept. ``docs-qa`` is what the rules were chosen
on, the PEPs had no say.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from recalld.embed.factory import make_embedder
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.model import Filters, Mode
from recalld.recall.answer import Answer, Answering, Judged
from recalld.recall.answer import Question as Asked
from recalld.recall.receipts import Receipts
from recalld.settings import EmbedSettings, default_cache_dir
from recalld.trust.confidence import confidences
from recalld.trust.verdict import Moment, Verdict
from tests.bench.bench_quality import SHOWN, indexed
from tests.bench.bench_trust import calibrator
from tests.bench.corpora import DATA, Corpus, docs_qa, peps
from tests.bench.figure import Figure, median, report
from tests.support.directories import short_directory
from tests.support.indexing import Index
from tests.support.postgres import FAST

K = 8
COST_BAR = 0.15
SEED = 7


@dataclass(frozen=True, slots=True)
class House:
    """An index with all that answers from it."""

    index: Index
    answering: Answering
    receipts: Receipts

    async def off(self, text: str) -> list[str]:
        found = await self.index.retriever().retrieve(text, K, Mode.RERANK, Filters(), self.index.generation.id)
        return list(dict.fromkeys(hit.chunk.path for hit in found.chunks))

    async def on(self, text: str) -> Answer:
        asked = Asked(text, K, Mode.RERANK, Filters(), self.index.generation.id, Moment(datetime.now(UTC)))
        answer = await self.answering.answer(asked)
        await self.receipts.give("bench", text, answer, None, None)
        return answer


async def measure() -> list[Figure]:
    """Index both corpora, calibrate without labels, and ask."""
    if not (DATA / "peps").is_dir():
        sys.stderr.write(f"skipped: the question sets are not in {DATA}\n")
        return []
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    figures: list[Figure] = []
    try:
        with short_directory() as directory:
            async with await EmbeddedPostgres.start(directory, settings=FAST) as server:
                for corpus in (docs_qa(), peps()):
                    async with indexed(server.dsn, embedder, corpus) as index:
                        house = await _house(index)
                        figures += await _questions(house, corpus)
                        if corpus.name == "peps":
                            figures += await _reversals(house)
    finally:
        await embedder.aclose()
    return figures


async def _house(index: Index) -> House:
    async def announce(_: str, __: object) -> None:
        return

    calibration = await calibrator(index, SEED).calibrate()
    answering = Answering(index.retriever(), index.store.standings, partial(confidences, calibration))
    return House(index, answering, Receipts(index.store, announce, lambda: datetime.now(UTC)))


async def _questions(house: House, corpus: Corpus) -> list[Figure]:
    off, on, abstained, alone, whole = [], [], [], [], []
    for number, question in enumerate(corpus.questions):
        timed: dict[Callable[[str], Awaitable[Any]], float] = {}
        replies = {}
        for ask in (house.off, house.on)[:: 1 if number % 2 else -1]:
            begun = time.perf_counter()
            replies[ask] = await ask(question.text)
            timed[ask] = time.perf_counter() - begun
        plain, answer = replies[house.off], replies[house.on]
        alone.append(timed[house.off])
        whole.append(timed[house.on])
        off.append(bool(question.gold & set(plain[:SHOWN])))
        on.append(bool(question.gold & _shown([*answer.hits, *_too_far(answer)])))
        abstained.append(off[-1] and not question.gold & _shown(answer.hits))
    aside = f"off {_share(off):.3f}; {len(off)} questions; of those found, abstained on {sum(abstained)}"
    cost = median(whole) / median(alone) - 1
    times = f"retrieval alone p50 {median(alone) * 1e3:.1f} ms, with verdicts and receipt {median(whole) * 1e3:.1f} ms"
    what = f"{corpus.name}: hit@{SHOWN} by document after verdicts, before abstention"
    bar = COST_BAR if corpus.name == "peps" else None
    return [
        Figure(what, _share(on), "", aside, ">= off", _share(on) >= _share(off)),
        Figure(
            f"{corpus.name}: cost of the trust layer", cost, "", times, f"<= {bar}" if bar else "", bar and cost <= bar
        ),
    ]


def _too_far(answer: Answer) -> list[Judged]:
    return [judged for judged in answer.withheld if judged.judgement.verdict is Verdict.LOW_CONFIDENCE]


def _shown(hits: Sequence[Judged]) -> set[str]:
    """Return the first documents of a reply; one that stands for another counts for both."""
    paths = list(dict.fromkeys(judged.hit.chunk.path for judged in hits))[:SHOWN]
    stood_for = {judged.stands_for for judged in hits if judged.stands_for and judged.hit.chunk.path in paths}
    return {*paths, *stood_for}


async def _reversals(house: House) -> list[Figure]:
    """Ask for each superseded PEP by its own title."""
    pairs = json.loads((DATA / "peps" / "edges.json").read_text())
    served, plainly_first, first = [], [], []
    for pair in pairs:
        old, title = f"{pair['old']}.md", pair["old_title"]
        plain = await house.off(title)
        answer = await house.on(title)
        served.append(old in [judged.hit.chunk.path for judged in answer.hits])
        plainly_first.append(bool(plain) and plain[0] == old)
        first.append(bool(answer.hits) and answer.hits[0].stands_for == old)
    kept = [pair["old"] for pair, ok in zip(pairs, served, strict=True) if ok]
    aside = (
        f"{', '.join(kept) or 'none'}; the old one is first without the layer in {sum(plainly_first)} of {len(pairs)}"
    )
    return [
        Figure("peps: superseded documents among the answers", sum(served), f"of {len(pairs)}", aside),
        Figure("peps: the first answer stands for the superseded document", sum(first), f"of {len(pairs)}"),
    ]


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    report(measure)
