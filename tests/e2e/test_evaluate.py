"""``recall evaluate`` on a small memory with twenty questions, as its author would run it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from recalld.cli import client_app
from recalld.evaluate.conditions import LADDER
from recalld.evaluate.tasks import read_tasks
from tests.support.directories import short_directory

TASKS = Path(__file__).parents[1] / "data" / "harbour.jsonl"
MEMORY = str(resources.files("recalld.demo") / "memory")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A directory for runs, with a cache of its own."""
    with short_directory() as directory:
        yield directory


def evaluate(home: Path, *words: object, answers: str | None = None) -> Result:
    return CliRunner().invoke(
        client_app.app,
        ["evaluate", *map(str, words)],
        input=answers,
        env={"XDG_CACHE_HOME": str(home / "cache"), "COLUMNS": "250"},
        catch_exceptions=False,
    )


def reply(home: Path, *words: object) -> Any:
    result = evaluate(home, *words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def first(home: Path) -> Path:
    """The folder of a whole run."""
    result = evaluate(home, "--tasks", TASKS, "--corpus", MEMORY, "--out", home / "runs")
    assert result.exit_code == 0, result.output
    assert "20 tasks" in result.stdout
    assert "+cross-encoder was left out" in result.stdout
    [folder] = (home / "runs").iterdir()
    return folder


def test_a_run_leaves_all_that_it_was_made_of(first: Path) -> None:
    files = {path.name for path in first.iterdir()}
    assert files >= {"manifest.json", "tasks.jsonl", "cases.jsonl", "scores.json", "report.html"}
    assert files >= {"ladder.png", "risk-coverage.png", "confidence.png", "thresholds.png", "latency.png"}
    manifest = json.loads((first / "manifest.json").read_text())
    assert manifest["tasks"]["count"] == 20
    assert {"corpus", "settings", "embedder", "generation", "machine", "seed", "code"} <= manifest.keys()
    scores = json.loads((first / "scores.json").read_text())
    rungs = {rung["name"]: rung for rung in scores["rungs"]}
    assert list(rungs) == [name for name in LADDER if name != "+cross-encoder"]
    assert rungs["no-memory"]["answered"]["right"]["value"] == 0.2
    assert rungs["oracle"]["answered"]["right"]["value"] == 1.0
    assert rungs["hybrid"]["answered"]["stale served"]["value"] > 0
    assert rungs["+trust"]["answered"]["stale served"]["value"] == 0.0
    assert (
        rungs["+trust"]["answered"]["right"]["value"] > rungs["hybrid+late-interaction"]["answered"]["right"]["value"]
    )
    assert len((first / "cases.jsonl").read_text().splitlines()) == 20 * len(rungs)


def test_the_report_stands_alone(first: Path) -> None:
    page = (first / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 5
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)


def test_a_task_is_explained(home: Path, first: Path) -> None:
    shown = evaluate(home, "explain", "times", "--run", first)
    assert "decisions/0008-utc-times.md" in shown.stdout
    told = reply(home, "explain", "times", "--run", first)["conditions"]
    assert told["no-memory"]["loss"] == "not retrieved"
    assert told["hybrid"]["loss"] == "answered wrongly"
    assert told["+trust"]["loss"] == "not lost"
    unknown = evaluate(home, "explain", "nosuch", "--run", first)
    assert (unknown.exit_code, "has no task nosuch" in unknown.stderr) == (2, True)


def test_two_runs_are_compared(home: Path, first: Path) -> None:
    second = reply(
        home, "--tasks", TASKS, "--corpus", MEMORY, "--out", home / "runs", "--no-report", "--conditions", "hybrid",
        "--set", "recall.rrf_k=5", "--hits", 3,
    )["folder"]  # fmt: skip
    found = reply(home, "compare", first, second)
    assert "settings.recall.rrf_k: 60, then 5" in found["setups"]
    assert {row["condition"] for row in found["rows"]} == {"hybrid"}
    same = reply(home, "compare", first, first)
    assert same["setups"] == []
    assert {row["difference"]["value"] for row in same["rows"]} == {0.0}


def test_the_same_run_gives_the_same_scores(home: Path, first: Path) -> None:
    again = reply(home, "--tasks", TASKS, "--corpus", MEMORY, "--out", home / "runs", "--no-report")
    before = json.loads((first / "scores.json").read_text())
    assert again["losses"] == before["losses"]
    for old, new in zip(before["rungs"], again["rungs"], strict=True):
        assert (old["ranked"], old["answered"]) == (new["ranked"], new["answered"]), old["name"]


def test_an_ablation_goes_on_where_it_was_stopped(home: Path) -> None:
    asked = (
        "ablate", "--tasks", TASKS, "--corpus", MEMORY, "--out", home / "runs", "--conditions", "lexical,hybrid",
        "--set", "embed.model=hashing", "--vary", "ingest.chunk_tokens=64,200", "--ks", "1,3", "--by", "hit@3",
    )  # fmt: skip
    found = reply(home, *asked)
    assert len(found["rows"]) == 4
    assert [row["tune"] for row in found["rows"]] == sorted((row["tune"] for row in found["rows"]), reverse=True)
    kept = sorted((home / "runs/ablations").iterdir())
    assert len(kept) == 4
    kept[0].unlink()
    written = {path: path.stat().st_mtime_ns for path in kept[1:]}
    again = reply(home, *asked)
    assert {path: path.stat().st_mtime_ns for path in kept[1:]} == written
    assert kept[0].exists()
    plain = [[(row["cell"]["settings"], row["tune"], row["report"]) for row in one["rows"]] for one in (found, again)]
    assert plain[0] == plain[1]
    otherwise = evaluate(home, *asked, "--vary", "recall.rrf_k=60")
    assert (otherwise.exit_code, "recall.rrf_k" in otherwise.stdout) == (0, True)
    assert sorted((home / "runs/ablations").iterdir()) == kept


def test_embedders_are_looked_at(home: Path) -> None:
    found = reply(home, "embedders", "--tasks", TASKS, "--corpus", MEMORY, "--out", home / "runs")
    regimes = {(one["embedder"], one["signal"]): one for one in found["regimes"]}
    assert ("minilm", "MaxSim") in regimes
    assert ("hashing", "cosine") in regimes
    assert regimes["minilm", "cosine"]["auroc"] > 0.9
    assert (Path(found["folder"]) / "embedders.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--tasks", "gone.jsonl", "--corpus", MEMORY), "gone.jsonl"),
        (("--tasks", TASKS), "which documents are asked about"),
        (("--tasks", TASKS, "--corpus", "/no/such/folder"), "there is no folder"),
        (("--tasks", TASKS, "--corpus", MEMORY, "--conditions", "psychic"), "there is no condition psychic"),
        (("--tasks", TASKS, "--corpus", MEMORY, "--split", "test"), "there is no split"),
        (("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--vary", "ingest.chunk_tokens="), "no values"),
        (("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--vary", "ingest.policy=psychic"), "ingest.policy"),
        (("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--ks", "none"), "not numbers"),
        (("import", "csv", "/no/such/file", "out"), "there is no /no/such/file"),
        (("compare", "/no/run", "/no/run"), "holds no evaluation"),
    ],
)
def test_what_cannot_be_run_is_named(home: Path, words: tuple[object, ...], told: str) -> None:
    result = evaluate(home, *words)
    assert result.exit_code in (1, 2)
    assert told in result.stderr


def test_tasks_are_written_with_their_author(home: Path, tmp_path: Path) -> None:
    memory = shutil.copytree(MEMORY, tmp_path / "memory")
    tasks = tmp_path / "mine.jsonl"
    asked = ("propose", memory, tasks, "--count", 3)
    said = ["", "-", "what is a berth?", "", "what do hedgehogs eat?", ""]
    result = evaluate(home, *asked, answers="\n".join(said) + "\n")
    assert result.exit_code == 0
    written = read_tasks(tasks)
    assert [task.answerable for task in written] == [True, True, True, False]
    assert written[1].query == "what is a berth?"
    assert evaluate(home, *asked, answers=".\n").exit_code == 0
    assert read_tasks(tasks) == written
    assert evaluate(home, "check", "--tasks", tasks, "--corpus", memory).exit_code in (0, 1)


def test_the_shipped_tasks_are_sound(home: Path) -> None:
    assert reply(home, "check", "--tasks", TASKS, "--corpus", MEMORY)["doubts"] == []
