"""The fit on made-up scores: where its threshold stands, what it refuses, and what it believes of stored JSON."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from recalld.errors import CalibrationRefused
from recalld.model import Position, RankedChunk, StoredChunk
from recalld.trust.confidence import Calibration, confidences, judge, kind_of
from recalld.trust.fitting import Sample, class_errors, fit
from recalld.trust.probes import Origin, Probe

AT = datetime(2026, 3, 4, tzinfo=UTC)
Scores = dict[str, float]


def scores(rng: random.Random, good: bool) -> Scores:
    level = rng.gauss(0.65 if good else 0.25, 0.06)
    found = {"maxsim": level, "dense": level + rng.gauss(0.05, 0.05), "rrf": 0.03}
    return found | ({"lexical": rng.uniform(8, 40)} if good else {"lexical": rng.uniform(0.5, 6)})


def samples(answerable: int, unanswerable: int, seed: int = 5) -> list[Sample]:
    rng = random.Random(seed)
    return [
        Sample(
            Probe(f"question {n}", n < answerable, Origin.LABEL, f"subject {n}"),
            tuple(sorted((scores(rng, n < answerable) for _ in range(3)), key=lambda found: -found["maxsim"])),
        )
        for n in range(answerable + unanswerable)
    ]


def fitted(asked: list[Sample], source: Any = "pseudo", least: int = 20) -> Calibration:
    return fit(asked, generation="g1", source=source, fitted_at=AT, documents=10, least=least)


def flipped(sample: Sample, answerable: bool) -> Sample:
    probe = sample.probe
    return Sample(Probe(probe.query, answerable, probe.origin, probe.subject), sample.hits)


def ranked(found: Scores) -> RankedChunk:
    place = (1, 1, "r", "a.md", "A", "note", (), (), (1, 2), "t", "h", "c", None, "", Position(1, 1))
    chunk = StoredChunk(*place, modified_at=AT, indexed_at=AT, first_indexed_at=AT)
    return RankedChunk(chunk, 1.0, found)


def test_each_kind_of_search_has_its_model_and_words_alone_have_none() -> None:
    calibration = fitted(samples(40, 40))
    assert set(calibration.models) == {"rerank", "hybrid", "dense"}
    full = {"maxsim": 0.7, "dense": 0.7, "lexical": 20.0, "rrf": 0.03}
    for names in (("maxsim", "dense", "lexical", "rrf"), ("dense", "lexical", "rrf"), ("dense",)):
        [sure] = confidences(calibration, [ranked({name: full[name] for name in names})]) or [math.nan]
        assert sure > 0.8
    assert confidences(calibration, [ranked({"lexical": 20.0})]) is None
    assert confidences(None, [ranked(full)]) is None
    assert confidences(calibration, []) == []


def test_a_search_is_known_by_its_scores() -> None:
    assert kind_of([{"maxsim": 0.5, "dense": 0.5, "rrf": 0.1}]) == "rerank"
    assert kind_of([{"dense": 0.5, "rrf": 0.1}, {"dense": 0.4, "rrf": 0.1, "lexical": 3.0}]) == "hybrid"
    assert kind_of([{"dense": 0.5}]) == "dense"
    assert kind_of([{"dense": 0.5}, {"lexical": 3.0}]) is None


def test_the_threshold_is_midway_between_the_tails() -> None:
    """In log odds, between the best of the unanswerable questions' hits and the worst of the answerable ones'."""
    report = fitted(samples(60, 60)).models["rerank"].report
    assert report.high < 0.5 < report.low
    assert math.log(report.low / (1 - report.low)) == pytest.approx(-math.log(report.high / (1 - report.high)))


@pytest.mark.parametrize("name", ["maxsim", "dense", "lexical"])
def test_a_better_score_never_means_less_confidence(name: str) -> None:
    calibration = fitted(samples(40, 40))
    base = {"maxsim": 0.45, "dense": 0.45, "lexical": 7.0}
    sure = [(judge(calibration, [base | {name: base[name] * factor}]) or [0])[0] for factor in (0.1, 0.5, 1, 1.5, 3)]
    assert sure == sorted(sure)
    assert sure[0] < sure[-1]


def test_a_missing_class_and_a_thin_one_are_refused() -> None:
    with pytest.raises(CalibrationRefused, match="only 0 unanswerable questions; 5"):
        fitted(samples(40, 0), "labels", least=5)
    with pytest.raises(CalibrationRefused, match="only 19 answerable questions; 20") as refusal:
        fitted(samples(19, 40))
    assert refusal.value.exit_status == 4
    assert refusal.value.code == "calibration"


def test_scores_of_words_alone_are_refused() -> None:
    asked = [Sample(sample.probe, ({"lexical": 3.0},)) for sample in samples(30, 30)]
    with pytest.raises(CalibrationRefused, match="words alone"):
        fitted(asked)


def test_what_cannot_be_told_apart_is_refused() -> None:
    rng = random.Random(9)
    asked = [Sample(sample.probe, (scores(rng, rng.random() < 0.5),)) for sample in samples(40, 40)]
    with pytest.raises(CalibrationRefused, match="cannot tell them apart"):
        fitted(asked)


def test_a_kind_of_search_that_cannot_tell_goes_uncalibrated_alone() -> None:
    rng = random.Random(4)
    asked = [
        Sample(sample.probe, tuple({**hit, "dense": rng.random()} for hit in sample.hits)) for sample in samples(40, 40)
    ]
    calibration = fitted(asked)
    assert set(calibration.models) == {"rerank", "hybrid"}
    assert judge(calibration, [{"dense": 0.7}]) is None


def test_few_questions_are_not_certified_and_enough_are() -> None:
    few = fitted(samples(19, 40), "labels", least=5).models["rerank"].report
    assert few.certified is None
    assert "19 questions" in few.reason
    enough = fitted(samples(20, 20), "labels", least=5).models["rerank"].report
    assert enough.certified is True
    assert enough.reason == ""


def test_overlapping_classes_are_not_certified_and_the_rates_say_why() -> None:
    asked = samples(40, 40)
    asked[:6] = [Sample(sample.probe, asked[50 + n].hits) for n, sample in enumerate(asked[:6])]
    report = fitted(asked, "labels", least=5).models["rerank"].report
    assert report.certified is False
    assert "separability" in report.reason
    assert report.false_abstain == pytest.approx(6 / 40)


def test_a_wrong_label_is_named_and_does_not_move_the_threshold() -> None:
    asked = samples(40, 40)
    clean = fitted(asked, "labels", least=5)
    wrong = [*asked[1:], flipped(asked[0], False)]
    calibration = fitted(wrong, "labels", least=5)
    assert [(suspect.query, suspect.answerable) for suspect in calibration.suspects] == [("question 0", False)]
    assert calibration.suspects[0].confidence > 0.9
    middle = [{"maxsim": 0.45, "dense": 0.5, "lexical": 6.0}]
    assert judge(calibration, middle) == pytest.approx(judge(clean, middle), abs=0.05)


def test_bank_questions_that_the_memory_covers_do_not_poison_the_fit() -> None:
    """Five of forty: more than the tail of 5 % would forgive."""
    asked = samples(45, 40)
    covered = [flipped(sample, False) for sample in asked[:5]]
    calibration = fitted(asked[5:] + covered)
    assert {suspect.query for suspect in calibration.suspects} == {sample.probe.query for sample in covered}
    assert class_errors(calibration, asked[5:]) == {True: 0.0, False: 0.0}
    assert calibration.models["rerank"].report.false_confident == pytest.approx(5 / 45)


def test_no_hits_count_as_not_known() -> None:
    asked = samples(30, 30)
    asked[-1] = Sample(asked[-1].probe, ())
    calibration = fitted(asked)
    assert class_errors(calibration, [asked[-1]]) == {True: 0.0, False: 0.0}
    assert class_errors(calibration, [flipped(asked[-1], True)])[True] == 1.0


def test_json_comes_back_as_it_was() -> None:
    calibration = fitted(samples(30, 30))
    assert Calibration.from_json(json.loads(json.dumps(calibration.to_json())), "g1") == calibration


def _with(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def tamper(data: dict[str, Any]) -> None:
        *steps, last = path.split(".")
        for step in steps:
            data = data[step]
        data[last] = value

    return tamper


@pytest.mark.parametrize(
    "tamper",
    [
        _with("models.rerank.bias", math.nan),
        _with("models.rerank.bias", "NaN"),
        _with("models.rerank.bias", math.inf),
        _with("models.rerank.weights", [1.0, 1.0]),
        _with("models.rerank.weights", [1.0, -1.0, 1.0]),
        _with("models.rerank.weights", [0.0, 0.0, 0.0]),
        _with("models.rerank.scale", [1.0, 0.0, 1.0]),
        _with("models.rerank.features", ["maxsim", "dense", "wishes"]),
        _with("models.rerank.extra", 1),
        _with("models.guess", {}),
        _with("fitted_at", "yesterday"),
        _with("source", "thin air"),
        _with("generation", "g2"),
        lambda data: data.pop("models"),
        lambda data: data["models"].clear(),
    ],
)
def test_what_was_tampered_with_is_refused(tamper: Callable[[dict[str, Any]], None]) -> None:
    data = fitted(samples(30, 30)).to_json()
    tamper(data)
    with pytest.raises(CalibrationRefused):
        Calibration.from_json(data, "g1")
