"""Metrics against values worked out by hand, and against trec_eval."""

from __future__ import annotations

import math
import random

import pytest
import pytrec_eval

from recalld.evaluate.metrics import confidence, ranking, sampling, spans


def test_ranking_metrics_by_hand() -> None:
    found, gold = ["a", "b", "c", "d"], {"b", "d", "x"}
    assert ranking.precision_at(found, gold, 2) == 0.5
    assert ranking.precision_at(found, gold, 10) == 0.2  # six places are empty
    assert ranking.recall_at(found, gold, 4) == pytest.approx(2 / 3)
    assert ranking.hit_at(found, gold, 1) == 0.0
    assert ranking.hit_at(found, gold, 2) == 1.0
    assert ranking.reciprocal_rank(found, gold) == 0.5
    assert ranking.reciprocal_rank(found, {"x"}) == 0.0
    gain = 1 / math.log2(3) + 1 / math.log2(5)
    assert ranking.ndcg_at(found, gold, 10) == pytest.approx(gain / (1 + 1 / math.log2(3) + 1 / math.log2(4)))
    assert ranking.ndcg_at([], gold, 10) == 0.0


def test_ranking_metrics_agree_with_trec_eval() -> None:
    rng = random.Random(5)
    measures = {"P_5", "recall_5", "success_5", "recip_rank", "ndcg_cut_10"}
    for _ in range(300):
        items = [f"d{number}" for number in rng.sample(range(60), rng.randint(1, 30))]
        gold = {f"d{number}" for number in rng.sample(range(60), rng.randint(1, 8))}
        run = {"q": {item: float(len(items) - place) for place, item in enumerate(items)}}
        [reference] = (
            pytrec_eval.RelevanceEvaluator(
                {"q": dict.fromkeys(gold, 1)}, {"P", "recall", "success", "recip_rank", "ndcg_cut"}
            )
            .evaluate(run)
            .values()
        )
        ours = {
            "P_5": ranking.precision_at(items, gold, 5),
            "recall_5": ranking.recall_at(items, gold, 5),
            "success_5": ranking.hit_at(items, gold, 5),
            "recip_rank": ranking.reciprocal_rank(items, gold),
            "ndcg_cut_10": ranking.ndcg_at(items, gold, 10),
        }
        assert ours == pytest.approx({name: reference[name] for name in measures})


def test_spans_by_hand() -> None:
    shown = {"a.md": [(0, 10), (5, 20)], "b.md": [(0, 10)]}
    wanted = {"a.md": [(15, 30)]}
    assert spans.overlap(shown, wanted) == spans.Overlap(5 / 15, 5 / 30, 5 / 40)
    assert spans.overlap({}, wanted) == spans.Overlap(0.0, 0.0, 0.0)
    assert spans.overlap({"a.md": [(15, 30)]}, {"a.md": [(15, 20), (20, 30)]}) == spans.Overlap(1.0, 1.0, 1.0)


def test_spans_against_counting_characters() -> None:
    rng = random.Random(6)
    for _ in range(200):
        sides = [
            {path: [(at, at + rng.randint(1, 9)) for at in rng.sample(range(40), rng.randint(1, 4))] for path in "ab"}
            for _ in range(2)
        ]
        shown, wanted = (
            {(path, c) for path, held in side.items() for start, end in held for c in range(start, end)}
            for side in sides
        )
        common = len(shown & wanted)
        got = spans.overlap(sides[0], sides[1])
        assert (got.recall, got.precision, got.iou) == pytest.approx(
            (common / len(wanted), common / len(shown), common / len(shown | wanted))
        )


def test_confidence_metrics_by_hand() -> None:
    sure, right = [0.9, 0.8, 0.8, 0.2], [True, True, False, False]
    assert confidence.auroc(sure, right) == pytest.approx(3.5 / 4)
    assert confidence.auroc(sure, [True] * 4) is None
    points = confidence.risk_coverage(sure, right)
    assert [(p.threshold, p.coverage, p.risk) for p in points] == [
        (0.9, 0.25, 0.0),
        (0.8, 0.75, pytest.approx(1 / 3)),
        (0.2, 1.0, 0.5),
    ]
    assert confidence.area_under(points) == pytest.approx(0.5 / 3 + 0.25 * 0.5)
    # bins 0.2, 0.8, 0.9: |0.2 - 0| / 4, |0.8 - 0.5| / 2, |0.9 - 1| / 4
    assert confidence.calibration_error(sure, right) == pytest.approx(0.05 + 0.15 + 0.025)
    assert confidence.calibration_error([1.0, 1.0], [True, False]) == 0.5


def test_a_bootstrap_interval_has_the_width_of_theory() -> None:
    rng = random.Random(7)
    values = [float(rng.random() < 0.3) for _ in range(400)]
    got = sampling.mean(values, seed=1)
    share = sum(values) / len(values)
    half = 1.96 * math.sqrt(share * (1 - share) / len(values))
    assert got.value == pytest.approx(share)
    assert (got.low, got.high) == pytest.approx((share - half, share + half), abs=0.01)
    assert got == sampling.mean(values, seed=1)


def test_a_paired_difference_knows_change_from_noise() -> None:
    rng = random.Random(8)
    baseline = [float(rng.random() < 0.5) for _ in range(100)]
    better = [1.0 if rng.random() < 0.4 else value for value in baseline]
    noise = [value if rng.random() < 0.8 else 1 - value for value in baseline]
    real, chance = sampling.difference(better, baseline, seed=1), sampling.difference(noise, baseline, seed=1)
    assert real.low > 0 and real.chance < 0.01
    assert chance.low < 0 < chance.high and chance.chance > 0.05
    same = sampling.difference(baseline, baseline, seed=1)
    assert (same.value, same.chance) == (0.0, 1.0)
