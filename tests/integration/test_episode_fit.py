"""The model that comes with the project is the one that its pairs give; a fit is refused rather than guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.episodes.confidence import EpisodeModel
from recalld.episodes.fit import Judged, fit, judged, read_pairs, shipped_pairs
from recalld.episodes.fitted import shipped
from recalld.errors import CalibrationRefused, UsageError
from recalld.model import Vector
from recalld.settings import EmbedSettings

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
async def embedder(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    return await make_embedder(EmbedSettings(), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
async def rows(embedder: Embedder) -> list[Judged]:
    pairs = shipped_pairs()
    questions = dict.fromkeys(question for pair in pairs for question in (pair.first, pair.second))
    vectors: Mapping[str, Vector] = {each: (await embedder.embed_query(each)).pooled for each in questions}
    return judged(pairs, vectors)


async def test_the_shipped_model_is_what_the_shipped_pairs_give(embedder: Embedder, rows: list[Judged]) -> None:
    model, sweep = fit(rows, embedder.fingerprint, AT)
    packaged = shipped()
    assert packaged is not None and packaged.embedder == embedder.fingerprint
    assert packaged.threshold == model.threshold
    assert packaged.weights == pytest.approx(model.weights, abs=0.05)
    assert packaged.report.held_false_hits == model.report.held_false_hits <= 0.01
    assert packaged.report.held_served == model.report.held_served
    assert {row.threshold for row in sweep} >= {model.threshold}
    assert not set(model.report.topics) & set(model.report.held_topics)


async def test_one_failure_is_enough_to_derive_anew_and_age_alone_takes_long(rows: list[Judged]) -> None:
    model, _ = fit(rows, "x", AT)
    same = (1.0, 1.0, 0.0, 1.0)
    assert model.chance(same) > model.threshold
    assert model.chance(same, -3.0) < model.threshold
    assert model.chance(same, -0.69) > model.threshold


def test_a_model_survives_being_stored_and_damage_is_named(rows: list[Judged]) -> None:
    model, _ = fit(rows, "x", AT)
    plain = json.loads(json.dumps(model.to_json()))
    assert EpisodeModel.from_json(plain) == model
    for damage in ({"weights": [1.0]}, {"threshold": "high"}, {"report": None}, {"bias": float("nan")}):
        with pytest.raises(CalibrationRefused):
            EpisodeModel.from_json({**plain, **damage})


def test_too_few_pairs_or_of_one_kind_are_refused(rows: list[Judged]) -> None:
    with pytest.raises(CalibrationRefused, match="too few"):
        fit(rows[:50], "x", AT)
    with pytest.raises(CalibrationRefused, match="of one kind"):
        fit([row for row in rows if row.pair.serve] * 2, "x", AT)


def test_a_wrong_line_is_named() -> None:
    with pytest.raises(UsageError, match="line 2"):
        read_pairs('\n{"topic": "x"}\n')
    assert len(shipped_pairs()) >= 300
