"""The demo, run as a user runs it: the story comes true, and nothing is left."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from recalld.demo.story import QUESTIONS, SAVED, memo_count
from recalld.demo.throwaway import running_in, throw_away
from recalld.errors import DependencyError

DEMO = [sys.executable, "-c", "from recalld.cli import recall; recall()", "demo"]


def left() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("recall-demo-*"))


@pytest.fixture(autouse=True)
def _own_temporary_directory(monkeypatch: pytest.MonkeyPatch) -> object:
    with tempfile.TemporaryDirectory(prefix="rd-") as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield
        assert not running_in(Path(name))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_the_sample_is_big_enough_to_tell_a_story() -> None:
    assert memo_count() >= 25


@pytest.mark.timeout(300)
async def test_the_story_comes_true_and_nothing_is_left() -> None:
    result = await to_thread.run_sync(
        lambda: subprocess.run([*DEMO, "--json"], capture_output=True, text=True, timeout=240, check=False)
    )
    assert result.returncode == 0, result.stderr
    scenes = json.loads(result.stdout)["scenes"]
    asked = {scene["question"]: scene for scene in scenes if scene["question"]}
    for question in QUESTIONS:
        reply = asked[question.text]["reply"]
        paths = [hit["path"] for hit in reply["hits"]]
        assert not question.answer or question.answer in paths[:2], question
        assert question.withheld not in paths, question
        assert not question.withheld or question.withheld in [hit["path"] for hit in reply["withheld"]], question
    saved = next(scene for scene in scenes if scene["answer"] == SAVED)
    assert saved["took_ms"] > 0
    assert any(hit["path"] == SAVED for hit in saved["reply"]["hits"])
    lesson = next(scene for scene in scenes if scene["title"] == "A mistake that is made once")
    assert any(lesson["answer"] in line for line in lesson["shown"])
    assert "says nothing until" in lesson["says"] and "nothing is said" in lesson["says"]
    answers = next(scene for scene in scenes if scene["title"] == "A question that is answered once")
    assert "times as fast" in answers["says"] and "600" in answers["shown"][3] and "900" in answers["shown"][-1]
    unknown = scenes[-1]
    assert unknown["reply"]["calibrated"] is True
    assert unknown["reply"]["abstained"], unknown["says"]
    assert "It says so" in unknown["says"]
    assert not left()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_in_the_middle_leaves_nothing(number: signal.Signals) -> None:
    async with await anyio.open_process(DEMO, stdin=subprocess.DEVNULL) as process:
        with anyio.fail_after(120):
            while not any(len(running_in(home)) > 2 for home in left()):  # noqa: ASYNC110 - daemon and both servers
                await anyio.sleep(0.05)
        process.send_signal(number)
        process.send_signal(number)
        with anyio.fail_after(60):
            assert await process.wait() == 128 + number
    assert not left()


@pytest.mark.timeout(120)
async def test_a_daemon_that_does_not_start_is_told_with_its_last_words() -> None:
    with pytest.raises(DependencyError) as caught:
        async with throw_away({"embed.runtime": "steam"}):
            pass
    assert "embed.runtime" in caught.value.message
    assert "recalld doctor" in caught.value.suggestion
    assert not left()
