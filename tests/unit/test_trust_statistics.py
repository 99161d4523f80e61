import numpy as np
import pytest

from recalld.trust.statistics import auc_interval, logistic, quantile, separability, sigmoid


def test_a_quantile_is_one_of_the_values() -> None:
    values = [float(n) for n in range(20)]
    assert quantile(values, 0.05) == 1.0
    assert quantile(values, 0.95) == 19.0  # of 20 the maximum
    assert quantile([float(n) for n in range(40)], 0.95) == 38.0
    assert quantile([3.0], 0.95) == 3.0


def test_separability_is_the_share_of_pairs_in_order() -> None:
    assert separability(np.array([2.0, 3.0]), np.array([0.0, 1.0])) == 1.0
    assert separability(np.array([1.0]), np.array([1.0])) == 0.5
    assert separability(np.array([0.0, 3.0]), np.array([1.0, 2.0])) == 0.5


@pytest.mark.parametrize(
    ("count", "needed"),
    [(20, 0.962), (30, 0.955), (40, 0.950), (50, 0.946), (100, 0.936), (200, 0.927), (500, 0.918)],
)
def test_the_interval_certifies_from_the_published_separability_on(count: int, needed: float) -> None:
    assert auc_interval(needed + 0.0006, count, count)[0] >= 0.90
    assert auc_interval(needed - 0.0015, count, count)[0] < 0.90


def test_a_perfect_separability_has_no_width() -> None:
    assert auc_interval(1.0, 20, 20) == (1.0, 1.0)


def test_the_logistic_fit_separates_and_stays_finite() -> None:
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(2, 1, (60, 2)), rng.normal(-2, 1, (60, 2))])
    labels = np.arange(120) < 60
    weights = logistic(rows, labels)
    chance = sigmoid(rows @ weights[:-1] + weights[-1])
    assert ((chance >= 0.5) == labels).mean() > 0.95
    assert np.isfinite(logistic(np.array([[1.0], [-1.0]]), np.array([True, False]))).all()


def test_classes_of_unlike_size_weigh_the_same() -> None:
    rows = np.array([[1.0]] * 5 + [[-1.0]] * 500)
    weights = logistic(rows, rows[:, 0] > 0)
    assert abs(weights[-1]) < 0.3


def test_a_feature_that_would_count_against_an_answer_does_not_count() -> None:
    rng = np.random.default_rng(2)
    good = np.concatenate([rng.normal(1, 1, 80), rng.normal(-1, 1, 80)])
    labels = np.arange(160) < 80
    rows = np.column_stack([good, -good + rng.normal(0, 0.1, 160)])
    weights = logistic(rows, labels)
    assert weights[0] > 0
    assert weights[1] == 0


def test_a_warm_start_ends_where_a_cold_one_does() -> None:
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.normal(1, 1, (50, 3)), rng.normal(-1, 1, (50, 3))])
    labels = np.arange(100) < 50
    cold = logistic(rows, labels)
    assert np.allclose(logistic(rows, labels, cold + 0.3), cold, atol=1e-4)
