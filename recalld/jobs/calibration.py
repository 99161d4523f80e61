"""Calibrates: asks the memory probe questions, fits how sure it may be, and looks again when the corpus has changed."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from anyio import to_thread

from recalld.errors import BusyError, CalibrationRefused, WarmingError
from recalld.model import Filters, Generation, Mode, State
from recalld.recall.retrieve import Retriever
from recalld.settings import TrustSettings
from recalld.store import Store
from recalld.store.rows import CalibrationRow, CorpusSize
from recalld.trust.confidence import Calibration
from recalld.trust.fitting import Sample, class_errors, fit
from recalld.trust.probes import Origin, Passage, Probe, answerable, bank

log = logging.getLogger(__name__)

HITS = 8
"""Hits that a probe asks for: as many as a search does that says nothing else."""
PASSAGES_A_PROBE = 4
"""Passages that are drawn for each probe, for not all have a sentence or a name to ask for."""
LEAST_PROBES = 20
"""Answerable probes without which nothing is fitted: fewer could not be certified."""
LEAST_LABELS = 5
"""Labelled questions of each class without which nothing is fitted."""


class Step(StrEnum):
    """What came of looking after the calibration."""

    WAITING = "waiting"
    """Nothing could be done yet: no index, files under way, or another node at it."""
    KEPT = "kept"
    CHECKED = "checked"
    FITTED = "fitted"
    AGED = "aged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A step with its reason; ``calibration`` is what was fitted, ``class_error`` what was misjudged before."""

    step: Step
    reason: str = ""
    calibration: Calibration | None = None
    class_error: float | None = None


@dataclass(frozen=True, slots=True)
class _Standing:
    """A stored calibration that was read whole."""

    row: CalibrationRow
    calibration: Calibration
    probes: Sequence[Probe]


@dataclass(slots=True)
class Calibrator:
    """Fits and tends the calibration of the serving generation.

    ``retriever`` gives a generation's retriever, ``pending`` how many files wait to be indexed, ``announce`` tells an
    event. Questions are asked one after another, so that a search never waits for more than one of them.
    """

    store: Store
    retriever: Callable[[Generation], Retriever]
    pending: Callable[[], Awaitable[int]]
    announce: Callable[[str, Mapping[str, Any]], Awaitable[None]]
    settings: TrustSettings
    clock: Callable[[], datetime]
    rng: random.Random
    _seen: tuple[int, int] | None = field(default=None, init=False)
    """The generation and its documents at the last look: at rest is what two looks in a row find alike."""
    _refused: tuple[int, int] | None = field(default=None, init=False)
    """The generation and its documents that a fit was refused for."""

    async def tend(self) -> Outcome:
        """Calibrate the serving generation when it is at rest and has none, or when its corpus has moved away from it.

        Raises DependencyError when store, bus or embedder fail meanwhile.
        """
        generation = await self.store.generations.serving()
        if generation is None or await self.pending():
            self._seen = None
            return Outcome(Step.WAITING, "files wait to be indexed" if generation else "no generation serves yet")
        row = await self.store.calibrations.newest(generation.id)
        corpus = await self.store.calibrations.corpus(row.checked_at if row else None)
        rested = self._seen == (generation.id, corpus.documents)
        self._seen = (generation.id, corpus.documents)
        if not rested or not corpus.documents:
            return Outcome(Step.WAITING, "the index is not at rest" if corpus.documents else "there are no documents")
        standing = _standing(row, generation)
        if standing and changed_share(standing.row.documents, corpus) < self.settings.drift_share:
            return Outcome(Step.KEPT)
        if self._refused == self._seen:
            return Outcome(Step.REFUSED, "the documents are those that a calibration was refused for")
        async with self.store.calibrations.alone() as mine:
            if not mine:
                return Outcome(Step.WAITING, "another node calibrates")
            return await self._renew(generation, standing, corpus)

    async def look(self) -> Outcome:
        """Ask the stored probes again now, whether or not the corpus has moved; fit anew what fails them.

        Where calibration is off nothing is fitted, only told. Raises as :meth:`tend`.
        """
        generation = await self.store.generations.serving()
        if generation is None or await self.pending():
            return Outcome(Step.WAITING, "files wait to be indexed" if generation else "no generation serves yet")
        standing = _standing(await self.store.calibrations.newest(generation.id), generation)
        if standing is None:
            return Outcome(Step.WAITING, "nothing is calibrated yet: `recall calibrate` says why")
        corpus = await self.store.calibrations.corpus(standing.row.checked_at)
        async with self.store.calibrations.alone() as mine:
            if not mine:
                return Outcome(Step.WAITING, "another node calibrates")
            return await self._renew(generation, standing, corpus, fit=self.settings.calibrate != "off")

    async def calibrate(self, labels: Sequence[Probe] = (), *, dry_run: bool = False) -> Calibration:
        """Fit the serving generation now, from labelled questions where they are given; keep it unless ``dry_run``.

        Raises CalibrationRefused, BusyError while another node calibrates, DependencyError.
        """
        generation = await self.store.generations.serving()
        if generation is None:
            raise WarmingError("the index is not ready yet", suggestion="see `recall stats`")
        async with self.store.calibrations.alone() as mine:
            if not mine:
                raise BusyError("a calibration is under way", suggestion="try again in a moment")
            try:
                return await self._fit(generation, labels, keep=not dry_run)
            except CalibrationRefused as error:
                if not dry_run:
                    await self._tell_refused(generation, error)
                raise

    async def _renew(
        self, generation: Generation, standing: _Standing | None, corpus: CorpusSize, *, fit: bool = True
    ) -> Outcome:
        """Fit where there is no calibration, or the one there is fails its probes; without ``fit`` only say so."""
        labels: Sequence[Probe] = ()
        worst = None
        try:
            if standing is not None:
                worst = await self._worst_error(generation, standing)
                if worst <= self.settings.drift_error:
                    return await self._keep(generation, standing.row, corpus, worst)
                log.info("the calibration has aged: it misjudges %.0f %% of a class", worst * 100)
                if not fit:
                    return Outcome(Step.AGED, "calibration is off: `recall calibrate` fits it anew", class_error=worst)
                labels = standing.probes if standing.calibration.source == "labels" else ()
            fitted = await self._fit(generation, labels, keep=True)
            return Outcome(Step.FITTED, calibration=fitted, class_error=worst)
        except CalibrationRefused as error:
            self._refused = (generation.id, corpus.documents)
            if standing is not None:  # it failed its probes, or there would have been no fit to refuse
                await self.store.calibrations.aged(standing.row.id, at=self.clock())
            await self._tell_refused(generation, error)
            return Outcome(Step.REFUSED, error.message, class_error=worst)

    async def _worst_error(self, generation: Generation, standing: _Standing) -> float:
        """Ask some of the stored probes again; return the share that is misjudged now, of the worse class."""
        half = self.settings.drift_probes // 2
        classes = ([probe for probe in standing.probes if probe.answerable is label] for label in (True, False))
        drawn = [probe for found in classes for probe in self.rng.sample(found, min(half, len(found)))]
        return max(class_errors(standing.calibration, await self._ask(generation, drawn)).values())

    async def _keep(self, generation: Generation, row: CalibrationRow, corpus: CorpusSize, worst: float) -> Outcome:
        await self.store.calibrations.checked(row.id, documents=corpus.documents, at=self.clock())
        await self.announce("calibration.checked", {"generation": generation.id, "class_error": worst})
        return Outcome(Step.CHECKED, f"{worst:.0%} of the worse class are misjudged", class_error=worst)

    async def _fit(self, generation: Generation, labels: Sequence[Probe], *, keep: bool) -> Calibration:
        corpus = await self.store.calibrations.corpus()
        at = self.clock()  # before the questions are asked: what changes meanwhile counts as changed since
        probes = list(labels) or await self._probes(generation)
        samples = await self._ask(generation, probes)
        calibration = await to_thread.run_sync(
            lambda: fit(
                samples,
                generation=generation.fingerprint,
                source="labels" if labels else "pseudo",
                fitted_at=at,
                documents=corpus.documents,
                least=LEAST_LABELS if labels else LEAST_PROBES,
            )
        )
        if keep:
            await self._store(generation, calibration, probes)
        return calibration

    async def _probes(self, generation: Generation) -> list[Probe]:
        """Return questions that the memory answers, and as many at most that it does not."""
        wanted = self.settings.probes
        drawn = await self.store.calibrations.passages(
            generation.id, wanted * PASSAGES_A_PROBE, self.rng.getrandbits(31)
        )
        passages = [Passage(row.path, row.title, row.heading, row.text) for row in drawn]
        own = answerable(passages, self.rng, wanted)
        if len(own) < LEAST_PROBES:
            raise CalibrationRefused(
                f"the memory gives only {len(own)} probe questions; {LEAST_PROBES} are needed",
                suggestion="index more documents, or give labelled questions: `recall calibrate --labels FILE`",
            )
        return own + bank()[:wanted]

    async def _ask(self, generation: Generation, probes: Sequence[Probe]) -> list[Sample]:
        """Ask one after another; one search by all stages has the scores that all kinds of models look at."""
        retriever = self.retriever(generation)
        samples = []
        for probe in probes:
            found = await retriever.retrieve(probe.query, HITS, Mode.RERANK, Filters(), generation.id)
            if found.state is not State.READY:
                raise WarmingError(f"cannot calibrate now: {'; '.join(found.notes)}")
            samples.append(Sample(probe, tuple(hit.scores for hit in found.chunks)))
        return samples

    async def _store(self, generation: Generation, calibration: Calibration, probes: Sequence[Probe]) -> None:
        await self.store.calibrations.add(
            generation.id,
            model=calibration.to_json(),
            probes=[_plain(probe) for probe in probes],
            documents=calibration.documents,
            at=calibration.fitted_at,
        )
        self._refused = None
        report = next(iter(calibration.models.values())).report
        await self.announce(
            "calibration.fitted",
            {
                "generation": generation.id,
                "source": calibration.source,
                "answerable": report.answerable,
                "unanswerable": report.unanswerable,
                "false_abstain": report.false_abstain,
                "false_confident": report.false_confident,
                "certified": report.certified,
            },
        )
        log.info("calibrated generation %d with %d questions", generation.id, len(probes))

    async def _tell_refused(self, generation: Generation, error: CalibrationRefused) -> None:
        log.info("not calibrated: %s", error.message)
        await self.announce("calibration.refused", {"generation": generation.id, "reason": error.message})


def changed_share(before: int, corpus: CorpusSize) -> float:
    """Return the share of documents that were added, changed or removed since there were ``before`` of them."""
    moved = max(corpus.changed, abs(corpus.documents - before))
    return moved / max(before, corpus.documents, 1)


def _standing(row: CalibrationRow | None, generation: Generation) -> _Standing | None:
    """Read what is stored; None where nothing is, or nothing that may be believed, which is fitted anew."""
    if row is None:
        return None
    try:
        calibration = Calibration.from_json(row.model, generation.fingerprint)
        return _Standing(row, calibration, [_probe(item) for item in row.probes])
    except (CalibrationRefused, KeyError, TypeError, ValueError) as error:
        log.warning("generation %d is calibrated anew: %s", generation.id, error)
        return None


def _probe(item: Mapping[str, Any]) -> Probe:
    return Probe(item["query"], item["answerable"] is True, Origin(item["origin"]), item["subject"])


def _plain(probe: Probe) -> dict[str, Any]:
    return {
        "query": probe.query,
        "answerable": probe.answerable,
        "origin": str(probe.origin),
        "subject": probe.subject,
    }
