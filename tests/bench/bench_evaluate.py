"""The instrument's own cost: 1,000 tasks asked and scored, beside the same searches alone, over some 10,000 chunks.

The searches alone are the product's: no trace, nothing measured. Questions are the memory's own names and sentences,
and the shipped ones on other subjects; the documents are as many PEPs as make 10,000 chunks.
"""

from __future__ import annotations

import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from recalld.embed.factory import make_embedder
from recalld.evaluate import records, run
from recalld.evaluate.conditions import LATE, TRUST, Ladder
from recalld.evaluate.corpus import Corpus, read_corpus
from recalld.evaluate.manifest import Setup, manifest
from recalld.evaluate.run import Plan
from recalld.evaluate.tasks import Gold, Task
from recalld.evaluate.workbench import workbench
from recalld.model import Filters, Mode
from recalld.recall.answer import Question
from recalld.settings import EmbedSettings, IngestSettings, RecallSettings, TrustSettings, default_cache_dir
from recalld.trust.probes import Passage, answerable, bank
from recalld.trust.verdict import Moment
from tests.bench.corpora import DATA, peps
from tests.bench.figure import Figure, median, report

TASKS, DOCUMENTS, HITS = 1_000, 365, 10
ROUNDS, SEED = 3, 0
BAR = 1.3


async def measure() -> list[Figure]:
    """Ask all tasks under two conditions and alone, in turns."""
    if not (DATA / "peps").is_dir():
        sys.stderr.write(f"skipped: the question sets are not in {DATA}\n")
        return []
    setup = Setup(EmbedSettings(), IngestSettings(), RecallSettings(), TrustSettings())
    embedder = await make_embedder(setup.embed, default_cache_dir())
    try:
        with TemporaryDirectory() as folder:
            for path, content in list(peps().documents.items())[:DOCUMENTS]:
                (Path(folder) / path).write_bytes(content)
            corpus = await read_corpus(Path(folder))
        async with (
            workbench(default_cache_dir(), lambda *_: None) as bench,
            run.opened(bench, setup, corpus, embedder, SEED) as (opened, catalogue),
        ):
            ladder = Ladder(opened, catalogue, setup.recall, HITS, datetime.now(UTC))
            return await _in_turns(ladder, setup, corpus)
    finally:
        await embedder.aclose()


async def _tasks(ladder: Ladder) -> list[Task]:
    """Return questions that the memory answers, and shipped ones that it does not."""
    bench = ladder.bench
    drawn = await bench.store.calibrations.passages(bench.generation.id, 5 * TASKS, SEED)
    passages = [Passage(row.path, row.title, row.heading, row.text) for row in drawn]
    unknown = bank()
    known = answerable(passages, random.Random(SEED), TASKS - len(unknown))
    return [
        Task(
            id=str(number), query=one.query, answerable=one.answerable, gold=(Gold(path=one.subject),) * one.answerable
        )
        for number, one in enumerate([*known, *unknown])
    ]


async def _in_turns(ladder: Ladder, setup: Setup, corpus: Corpus) -> list[Figure]:
    tasks = await _tasks(ladder)
    facts = manifest(setup, corpus, tasks, ladder.bench, SEED, ladder.now)
    whole, alone = [], []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        done = await run.measured(ladder, tasks, Plan([LATE, TRUST], 5, HITS, SEED), facts, lambda *_: None)
        with TemporaryDirectory() as folder:
            records.write(Path(folder), done, tasks)
        whole.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        await _searches(ladder, tasks)
        alone.append(time.perf_counter() - begun)
    ratio = median(whole) / median(alone)
    chunks = len(ladder.catalogue.chunks)
    baseline = f"{median(whole):.1f} s against {median(alone):.1f} s; {len(tasks)} tasks, {chunks} chunks, 2 conditions"
    what = "evaluating against the searches alone, both conditions, records written"
    return [Figure(what, ratio, "x", baseline, f"<= {BAR:g}", ratio <= BAR)]


async def _searches(ladder: Ladder, tasks: list[Task]) -> None:
    """Make the same searches as the product does."""
    retriever = ladder.bench.retriever(ladder.settings)
    answering, generation = ladder.bench.answering(retriever), ladder.bench.generation.id
    for task in tasks:
        await retriever.retrieve(task.query, HITS, Mode.RERANK, Filters(), generation)
    for task in tasks:
        await answering.answer(Question(task.query, HITS, Mode.RERANK, Filters(), generation, Moment(ladder.now, None)))


if __name__ == "__main__":
    report(measure)
