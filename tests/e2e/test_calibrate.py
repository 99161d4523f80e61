"""A daemon calibrates itself once its index is at rest, and the command line has it do so."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path

import anyio
import pytest

from recalld.bus.client import RecallClient
from tests.support.commands import run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    """A daemon with the packaged model, whose memory is the demo's, calibrated by itself."""
    with short_directory() as directory:
        root = directory / "memory"
        shutil.copytree(str(resources.files("recalld.demo") / "memory"), root)
        state = directory / "state"
        async with running(state, RECALLD_EMBED__MODEL="minilm", RECALLD_TRUST__PROBES="60") as started:
            async with started.client() as client, client.follow("calibration") as events:
                await client.repo_add(str(root))
                await until_indexed(client, "memory", on_disk(root))
                with anyio.fail_after(60):
                    event = await anext(events)
            assert event.topic == "calibration.fitted", event
            yield started


async def count(client: RecallClient) -> int:
    return len((await client.events(topic="calibration")).events)


async def test_a_dry_run_reports_and_keeps_nothing(daemon: Daemon) -> None:
    async with daemon.client() as client:
        before = await count(client)
        people = await run_recall(daemon, "calibrate", "--dry-run")
        assert people.returncode == 0, people.stderr
        assert "dry run" in people.stdout
        assert "rerank" in people.stdout
        program = await run_recall(daemon, "calibrate", "--dry-run", "--json")
        reply = json.loads(program.stdout)
        assert reply["kept"] is False
        assert [model["kind"] for model in reply["models"]] == ["rerank", "hybrid", "dense"]
        assert await count(client) == before


async def test_labels_of_one_class_are_refused_with_status_4(daemon: Daemon, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text("\n".join(json.dumps({"query": f"why {n}", "answerable": True}) for n in range(9)))
    refused = await run_recall(daemon, "calibrate", "--labels", str(labels))
    assert refused.returncode == 4
    assert "only 0 unanswerable questions" in refused.stderr
    assert refused.stdout == ""


async def test_a_question_labelled_both_ways_is_named(daemon: Daemon, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    pair = [{"query": "Why  Redis?", "answerable": True}, {"query": "why redis?", "answerable": False}]
    labels.write_text("\n".join(map(json.dumps, pair)))
    wrong = await run_recall(daemon, "calibrate", "--labels", str(labels))
    assert wrong.returncode == 2
    assert "labelled both answerable and not" in wrong.stderr


async def test_a_question_repeated_is_one_question(daemon: Daemon, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    lines = [{"query": "what do hedgehogs eat", "answerable": False}] * 40
    lines += [{"query": f"why {n}", "answerable": True} for n in range(40)]
    labels.write_text("\n".join(map(json.dumps, lines)))
    refused = await run_recall(daemon, "calibrate", "--labels", str(labels))
    assert refused.returncode == 4
    assert "only 1 unanswerable question" in refused.stderr


async def test_a_file_that_is_no_label_file_never_reaches_the_daemon(daemon: Daemon, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"query": "why"}\n')
    wrong = await run_recall(daemon, "calibrate", "--labels", str(labels))
    assert wrong.returncode == 2
    assert "line 1: answerable is neither true nor false" in wrong.stderr


async def test_what_tells_questions_apart_is_fitted_and_drawn(daemon: Daemon, tmp_path: Path) -> None:
    plot = tmp_path / "sweep.png"
    people = await run_recall(daemon, "calibrate", "--episodes", "--dry-run", "--plot", str(plot))
    assert people.returncode == 0, people.stderr
    assert "fitted to 210 pairs of 7 topics, judged by 212 of 7 others (dry run" in people.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")
    program = await run_recall(daemon, "calibrate", "--episodes", "--dry-run", "--json")
    reply = json.loads(program.stdout)
    assert reply["kept"] is False and reply["report"]["held_false_hits"] <= 0.01


async def test_pairs_that_are_too_few_or_too_many_are_refused(daemon: Daemon, tmp_path: Path) -> None:
    pair = {"topic": "a", "first": "x", "second": "y " * 900, "relation": "paraphrase", "serve": True}
    labels = tmp_path / "pairs.jsonl"
    for count_, status, word in ((2, 4, "too few"), (800, 2, "do not fit into one request")):
        labels.write_text("\n".join([json.dumps(pair)] * count_))
        refused = await run_recall(daemon, "calibrate", "--episodes", "--labels", str(labels))
        assert refused.returncode == status, refused.stderr
        assert word in " ".join(refused.stderr.split())
