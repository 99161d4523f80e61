"""Abstention without labels: how often a known answer is withheld, and an unknown one given.

The calibrator asks its own probes of each corpus and fits; then the real questions are asked, as a search does. The
form of the model and the place of its threshold were chosen on docs-qa (and memories without questions); the questions
on PEPs had no say. Off-topic questions for docs-qa are those of the shipped bank that the fit did not ask.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recalld.embed.factory import make_embedder
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.jobs.calibration import HITS, Calibrator
from recalld.model import Filters, Mode, RankedChunk
from recalld.settings import EmbedSettings, TrustSettings, default_cache_dir
from recalld.trust.confidence import THRESHOLD, Calibration, confidences
from recalld.trust.fitting import TAIL
from recalld.trust.probes import bank
from recalld.trust.statistics import quantile
from tests.bench.bench_quality import indexed
from tests.bench.corpora import DATA, Corpus, docs_qa, peps, peps_offtopic
from tests.bench.figure import Figure, report
from tests.support.directories import short_directory
from tests.support.indexing import Index
from tests.support.postgres import FAST

ABSTAIN_BAR, CONFIDENT_BAR = 0.07, 0.05
SEEDS = (7, 8, 9)
"""Each draws its own probes of the corpus: how much hangs on the draw shows."""
MODES = (Mode.RERANK, Mode.HYBRID, Mode.DENSE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A corpus with the questions that it answers and those that it does not."""

    corpus: Corpus
    offtopic: Sequence[str]
    barred: bool

    @property
    def name(self) -> str:
        return self.corpus.name if self.barred else f"{self.corpus.name} (tuning)"


async def measure() -> list[Figure]:
    """Index both corpora, each in a database of its own, calibrate without labels, and ask."""
    if not (DATA / "peps").is_dir():
        sys.stderr.write(f"skipped: the question sets are not in {DATA}\n")
        return []
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    unseen = [probe.query for probe in bank()[TrustSettings().probes :]]
    figures: list[Figure] = []
    try:
        with short_directory() as directory:
            async with await EmbeddedPostgres.start(directory, settings=FAST) as server:
                for asked in (Asked(docs_qa(), unseen, False), Asked(peps(), peps_offtopic(), True)):
                    async with indexed(server.dsn, embedder, asked.corpus) as index:
                        figures += await _judged(index, asked)
    finally:
        await embedder.aclose()
    return figures


async def _judged(index: Index, asked: Asked) -> list[Figure]:
    begun = time.perf_counter()
    calibrations = [await calibrator(index, seed).calibrate() for seed in SEEDS]
    figures = [Figure(f"{asked.name}: time to calibrate", (time.perf_counter() - begun) / len(SEEDS), "s")]
    known = [question.text for question in asked.corpus.questions]
    midpoint = await _cosine_midpoint(index)
    withheld = _share([await _cosine(index, query) < midpoint for query in known])
    given = _share([await _cosine(index, query) >= midpoint for query in asked.offtopic])
    for mode in MODES:
        answers = [await _hits(index, query, mode) for query in known]
        others = [await _hits(index, query, mode) for query in asked.offtopic]
        abstain = [_share([not _confident(fit, hits) for hits in answers]) for fit in calibrations]
        confident = [_share([_confident(fit, hits) for hits in others]) for fit in calibrations]
        bars = (ABSTAIN_BAR, CONFIDENT_BAR) if asked.barred and mode is Mode.RERANK else (None, None)
        figures += [
            _figure(f"{asked.name}, {mode}: false abstain", abstain, withheld, bars[0]),
            _figure(f"{asked.name}, {mode}: false confident", confident, given, bars[1]),
        ]
    return figures


def calibrator(index: Index, seed: int) -> Calibrator:
    """Return what calibrates an index without labels; the seed draws its probes."""

    async def none_pending() -> int:
        return 0

    async def announce(_: str, __: Mapping[str, Any]) -> None:
        return

    return Calibrator(
        index.store,
        lambda _: index.retriever(),
        none_pending,
        announce,
        TrustSettings(),
        lambda: datetime.now(UTC),
        random.Random(seed),
    )


async def _hits(index: Index, query: str, mode: Mode) -> Sequence[RankedChunk]:
    return (await index.retriever().retrieve(query, HITS, mode, Filters(), index.generation.id)).chunks


def _confident(calibration: Calibration, hits: Sequence[RankedChunk]) -> bool:
    sure = confidences(calibration, hits)
    assert sure is not None, "a calibrated mode went unjudged"
    return max(sure, default=0.0) >= THRESHOLD


async def _cosine_midpoint(index: Index) -> float:
    """Return what a plain threshold would be: midway between the tails of the same probes' best cosines."""
    row = await index.store.calibrations.newest(index.generation.id)
    assert row is not None
    best: dict[bool, list[float]] = {True: [], False: []}
    for probe in row.probes:
        best[probe["answerable"]].append(await _cosine(index, probe["query"]))
    return (quantile(best[True], TAIL) + quantile(best[False], 1 - TAIL)) / 2


async def _cosine(index: Index, query: str) -> float:
    return max((hit.scores["dense"] for hit in await _hits(index, query, Mode.DENSE)), default=0.0)


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)


def _figure(what: str, values: Sequence[float], plain: float, bar: float | None) -> Figure:
    """Judge the mean over the fits by the bar; each fit's own value stands beside it."""
    value = sum(values) / len(values)
    aside = f"plain cosine midpoint {plain:.3f}; by fit {', '.join(f'{one:.3f}' for one in values)}"
    return Figure(what, value, "", aside, f"<= {bar}" if bar else "", None if bar is None else value <= bar)


if __name__ == "__main__":
    report(measure)
