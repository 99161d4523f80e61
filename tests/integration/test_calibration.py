"""Calibration over the real store and the packaged model, on the demo's memos."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.errors import BusyError, CalibrationRefused
from recalld.jobs.calibration import Calibrator, Step
from recalld.jobs.drift import CalibrateDrift
from recalld.model import Filters, Mode, RankedChunk
from recalld.serve.calibration import Standing
from recalld.settings import EmbedSettings, TrustSettings, default_cache_dir
from recalld.trust.confidence import Calibration, confidences
from recalld.trust.probes import Origin, Probe
from tests.support.indexing import AT, Index, an_index

KNOWN = [
    "why did we stop using Redis as a job queue",
    "what happened to the database connections on the holiday",
    "how many API requests per minute are allowed",
    "when is a guest's card actually charged",
    "in which time zone are bookings stored",
]
UNKNOWN = [
    "what do hedgehogs eat in winter",
    "who painted the Sistine chapel",
    "how do I cure a stiff neck",
    "largest lake in Finland",
    "why do cats purr when they sleep",
]


@dataclass
class Scene:
    """An index, a calibrator of it, what it announced, and a clock that moves when told."""

    index: Index
    dsn: str
    now: datetime = AT + timedelta(days=1)
    files: int = 0
    events: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def calibrator(self, **settings: Any) -> Calibrator:
        async def pending() -> int:
            return self.files

        async def announce(topic: str, data: Mapping[str, Any]) -> None:
            self.events.append((topic, data))

        return Calibrator(
            self.index.store,
            lambda _: self.index.retriever(),
            pending,
            announce,
            TrustSettings(**{"probes": 60, "drift_probes": 20} | settings),
            lambda: self.now,
            random.Random(3),
        )

    @property
    def topics(self) -> list[str]:
        return [topic for topic, _ in self.events]

    async def hits(self, query: str, mode: Mode = Mode.RERANK) -> list[RankedChunk]:
        found = await self.index.retriever().retrieve(query, 8, mode, Filters(), self.index.generation.id)
        return list(found.chunks)

    async def sure(self, calibration: Calibration | None, query: str, mode: Mode = Mode.RERANK) -> float | None:
        found = confidences(calibration, await self.hits(query, mode))
        return None if found is None else max(found, default=0.0)

    async def execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()


@pytest.fixture(scope="module")
async def minilm(anyio_backend: str) -> AsyncIterator[Embedder]:
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    yield embedder
    await embedder.aclose()


@pytest.fixture
async def scene(postgres: str, minilm: Embedder) -> AsyncIterator[Scene]:
    async with an_index(postgres, minilm) as index:
        await index.add(memos())
        yield Scene(index, postgres)


def memos() -> dict[str, bytes]:
    root = Path(str(resources.files("recalld.demo") / "memory"))
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*.md"))}


def labels(known: list[str], unknown: list[str]) -> list[Probe]:
    return [Probe(query, query in known, Origin.LABEL) for query in (*known, *unknown)]


async def test_without_labels_known_questions_are_answered_and_unknown_ones_are_not(scene: Scene) -> None:
    calibrator = scene.calibrator()
    assert (await calibrator.tend()).step is Step.WAITING  # one look does not show that the index is at rest
    assert (await calibrator.tend()).step is Step.FITTED
    assert scene.topics == ["calibration.fitted"]
    calibration = await Standing(scene.index.store)(scene.index.generation)
    for mode in (Mode.RERANK, Mode.HYBRID):
        for query in KNOWN:
            sure = await scene.sure(calibration, query, mode)
            assert sure is not None and sure >= 0.5, (mode, query)
        for query in UNKNOWN:
            sure = await scene.sure(calibration, query, mode)
            assert sure is not None and sure < 0.5, (mode, query)
    assert await scene.sure(calibration, KNOWN[0], Mode.LEXICAL) is None
    assert (await calibrator.tend()).step is Step.KEPT


async def test_nothing_is_fitted_while_files_wait(scene: Scene) -> None:
    calibrator = scene.calibrator()
    scene.files = 3
    assert [(await calibrator.tend()).step for _ in range(3)] == [Step.WAITING] * 3
    assert await scene.index.store.calibrations.newest(scene.index.generation.id) is None


async def test_a_small_change_is_not_looked_at_and_a_large_one_is(scene: Scene) -> None:
    calibrator = scene.calibrator()
    await calibrator.calibrate()
    scene.now = AT - timedelta(days=1)  # the index says that its documents are of AT: all have changed since then
    await scene.execute("UPDATE calibration SET checked_at = '2026-03-03T00:00Z'")
    assert [(await calibrator.tend()).step for _ in range(2)] == [Step.WAITING, Step.CHECKED]
    assert scene.topics == ["calibration.fitted", "calibration.checked"]
    row = await scene.index.store.calibrations.newest(scene.index.generation.id)
    assert row is not None
    assert (row.drift, row.checked_at) == ("stable", scene.now)


async def test_a_corpus_that_left_its_calibration_behind_is_fitted_anew(scene: Scene) -> None:
    """Every memo that the probes were taken from goes; others come that have nothing to do with them."""
    calibrator = scene.calibrator()
    first = await calibrator.calibrate()
    for path in memos():
        await scene.index.delete(path)
    await scene.index.add({f"new/{n}.md": text.encode() for n, text in enumerate(OTHERS)})
    scene.now += timedelta(days=1)
    assert [(await calibrator.tend()).step for _ in range(2)] == [Step.WAITING, Step.FITTED]
    assert scene.topics == ["calibration.fitted", "calibration.fitted"]
    calibration = await Standing(scene.index.store)(scene.index.generation)
    assert calibration is not None
    assert calibration.documents == len(OTHERS)
    assert calibration.fitted_at > first.fitted_at


async def test_a_calibration_that_has_aged_and_cannot_be_replaced_is_not_applied(scene: Scene) -> None:
    calibrator = scene.calibrator()
    await calibrator.calibrate()
    for path in memos():
        await scene.index.delete(path)
    await scene.index.add({"a.md": b"# What is left of it all\n\nThe rest was moved to another place.\n"})
    assert [(await calibrator.tend()).step for _ in range(3)] == [Step.WAITING, Step.REFUSED, Step.REFUSED]
    assert scene.topics == ["calibration.fitted", "calibration.refused"]
    assert await Standing(scene.index.store)(scene.index.generation) is None


async def test_a_memory_that_is_too_small_is_refused_once_and_stays_uncalibrated(
    postgres: str, minilm: Embedder
) -> None:
    async with an_index(postgres, minilm) as index:
        await index.add({"a.md": b"# One memo that is alone\n\nIt has a single sentence to ask for.\n"})
        scene = Scene(index, postgres)
        calibrator = scene.calibrator()
        assert [(await calibrator.tend()).step for _ in range(3)] == [Step.WAITING, Step.REFUSED, Step.REFUSED]
        assert scene.topics == ["calibration.refused"]
        assert "only 2 probe questions" in scene.events[0][1]["reason"]
        assert await scene.sure(await Standing(index.store)(index.generation), "one memo") is None
        await index.add(memos())
        assert [(await calibrator.tend()).step for _ in range(2)] == [Step.WAITING, Step.FITTED]


async def test_a_look_asks_the_probes_again_though_nothing_has_changed(scene: Scene) -> None:
    """What the job ``calibrate-drift`` does: where calibration is off it tells, and fits nothing."""
    job = CalibrateDrift(scene.calibrator())
    told: list[str] = []

    def progress(done: int, total: int, words: str) -> None:
        told.append(words)

    assert (await job(progress))["step"] == "waiting"
    await scene.calibrator().calibrate()
    found = await job(progress)
    assert (found["step"], told) == ("checked", ["asking probe questions"] * 2)
    assert 0 <= found["class_error"] <= 0.1
    for path in memos():
        await scene.index.delete(path)
    await scene.index.add({f"new/{n}.md": text.encode() for n, text in enumerate(OTHERS)})
    aged = await CalibrateDrift(scene.calibrator(calibrate="off"))(progress)
    assert (aged["step"], aged["class_error"] > 0.1) == ("aged", True)
    assert await Standing(scene.index.store)(scene.index.generation) is not None
    fitted = await job(progress)
    assert (fitted["step"], fitted["class_error"]) == ("fitted", aged["class_error"])


async def test_a_dry_run_keeps_nothing_and_tells_nobody(scene: Scene) -> None:
    calibration = await scene.calibrator().calibrate(dry_run=True)
    assert set(calibration.models) == {"rerank", "hybrid", "dense"}
    assert await scene.index.store.calibrations.newest(scene.index.generation.id) is None
    with pytest.raises(CalibrationRefused):
        await scene.calibrator().calibrate(labels(KNOWN, []), dry_run=True)
    assert scene.events == []


async def test_labels_are_fitted_kept_and_used_again(scene: Scene) -> None:
    calibrator = scene.calibrator()
    calibration = await calibrator.calibrate(labels(KNOWN, UNKNOWN))
    assert calibration.source == "labels"
    assert calibration.models["rerank"].report.certified is None
    row = await scene.index.store.calibrations.newest(scene.index.generation.id)
    assert row is not None
    assert {probe["query"]: probe["answerable"] for probe in row.probes} == {
        **dict.fromkeys(KNOWN, True),
        **dict.fromkeys(UNKNOWN, False),
    }


async def test_labels_of_one_class_are_refused_and_leave_what_stands(scene: Scene) -> None:
    calibrator = scene.calibrator()
    before = await calibrator.calibrate()
    with pytest.raises(CalibrationRefused, match="only 0 unanswerable"):
        await calibrator.calibrate(labels(KNOWN, []))
    assert scene.topics[-1] == "calibration.refused"
    assert await Standing(scene.index.store)(scene.index.generation) == before


@pytest.mark.parametrize("change", ["'{generation}', '\"of another index\"'", "'{models,rerank,bias}', '\"NaN\"'"])
async def test_what_is_foreign_or_damaged_is_not_applied_and_fitted_anew(scene: Scene, change: str) -> None:
    calibrator = scene.calibrator()
    await calibrator.calibrate()
    await scene.execute(f"UPDATE calibration SET model = jsonb_set(model, {change})")
    assert await Standing(scene.index.store)(scene.index.generation) is None
    assert [(await calibrator.tend()).step for _ in range(2)] == [Step.WAITING, Step.FITTED]
    assert await Standing(scene.index.store)(scene.index.generation) is not None


async def test_one_node_calibrates_at_a_time(scene: Scene) -> None:
    calibrator = scene.calibrator()
    await calibrator.tend()
    async with scene.index.store.calibrations.alone() as mine:
        assert mine
        assert (await calibrator.tend()).reason == "another node calibrates"
        with pytest.raises(BusyError):
            await calibrator.calibrate()
    assert (await calibrator.tend()).step is Step.FITTED


async def test_texts_that_only_some_may_read_are_not_asked_for(scene: Scene) -> None:
    text = "# Secret plan number {n}\n\nThe vault code of floor {n} is written here.\n"
    secret = {f"s{n}.md": text.format(n=n).encode() for n in range(30)}
    await scene.index.add(secret, repo="private", visible_to=("boss",))
    await scene.calibrator().calibrate()
    row = await scene.index.store.calibrations.newest(scene.index.generation.id)
    assert row is not None
    assert not [probe for probe in row.probes if "ecret" in probe["query"] or "vault" in probe["query"]]


async def test_a_searcher_reads_what_stands_at_most_once_a_second(scene: Scene) -> None:
    clock = [0.0]
    standing = Standing(scene.index.store, lambda: clock[0])
    assert await standing(scene.index.generation) is None
    await scene.calibrator().calibrate()
    assert await standing(scene.index.generation) is None
    clock[0] = 1.5
    assert await standing(scene.index.generation) is not None


async def test_a_generation_takes_its_calibration_with_it(scene: Scene) -> None:
    await scene.calibrator().calibrate()
    await scene.execute("DELETE FROM chunk; DELETE FROM document_generation; DELETE FROM generation")
    assert await scene.index.store.calibrations.newest(scene.index.generation.id) is None


OTHERS = [
    f"# {title}\n\n{body}\n"
    for title, body in {
        "How the telescope mirror is ground": "The glass blank is rubbed on a tool with wet carborundum for weeks.",
        "Testing the figure of the mirror": "A knife edge at the focus shows zones that are too high or too low.",
        "Silvering in the cellar": "Ammonia and silver nitrate are poured together only when the glass is clean.",
        "The mount rides on four pads": "Teflon pads on formica move smoothly and stop where they are let go.",
        "Choosing an eyepiece for planets": "A short focal length magnifies more than the air above us allows.",
        "Collimation before each night": "The laser spot has to come back into the hole that it came out of.",
        "Dew on the secondary mirror": "A small resistor behind the glass keeps it half a degree above the air.",
        "Drawing what can be seen": "We use a soft pencil on grey paper and note the seeing in the corner.",
        "Finding galaxies by star hopping": "From a bright star we go along triangles to a faint smudge of light.",
        "The observatory roof rolls away": "Two rails carry the roof to the north so that the south stays open.",
        "Measuring double stars": "The micrometer gives the angle from north and the distance in seconds.",
        "Filters against city light": "A narrow band lets the nebula through and leaves the sodium lamps out.",
    }.items()
]
