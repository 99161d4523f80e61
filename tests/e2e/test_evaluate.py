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
from tests.support.onnx_models import WORD, write_model

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
    assert (unknown.exit_code, "has no task nosuch" in unknown.stderr) == (1, True)


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
        (("--tasks", TASKS, "--corpus", MEMORY, "--seed", "-1"), "--seed"),
        (("--tasks", TASKS, "--corpus", MEMORY, "--out", "/proc/x"), "cannot write /proc/x"),
        (("embedders", "--tasks", TASKS, "--corpus", MEMORY, "--out", "/proc/x"), "cannot write /proc/x"),
        (("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--out", "/proc/x"), "cannot write /proc/x"),
        (("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--by", "nosuch"), "there is no metric 'nosuch'"),
        (("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--ks", "1000"), "from 1 to 100"),
        (("import", "csv", TASKS, "/proc/x"), "query"),
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


def test_no_rung_to_ask_is_named(home: Path) -> None:
    result = evaluate(
        home, "--tasks", TASKS, "--corpus", MEMORY, "--out", home / "none", "--conditions", "+cross-encoder",
        "--set", "embed.model=hashing",
    )  # fmt: skip
    assert (result.exit_code, "no rung is left" in result.stderr) == (2, True)
    assert list((home / "none").iterdir()) == []


def test_what_cannot_be_answered_is_told_beforehand(home: Path, tmp_path: Path) -> None:
    tasks = tmp_path / "t.jsonl"
    tasks.write_text(
        '{"id": "a", "query": "what?", "gold": ["gone.md"]}\n{"id": "b", "query": "?", "gold": ["./a.md"]}\n'
    )
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/a.md").write_text("A.\n")
    (tmp_path / "memory/b.md").write_bytes(b"\x00\x01")
    asked = ("--tasks", tasks, "--corpus", tmp_path / "memory", "--out", home / "told", "--conditions", "lexical")
    result = evaluate(home, *asked, "--set", "embed.model=hashing", "--no-report")
    assert result.exit_code == 0
    assert "1 tasks have gold that is not there (a)" in result.stderr
    assert "b.md (binary)" in result.stderr


@pytest.mark.parametrize("content", ["{", "[]", '{"tasks": 5}', "\xff"])
def test_a_damaged_cell_is_named_before_the_work(home: Path, content: str, tmp_path: Path) -> None:
    asked = ("ablate", "--tasks", TASKS, "--corpus", MEMORY, "--out", tmp_path, "--conditions", "lexical",
             "--set", "embed.model=hashing", "--vary", "ingest.chunk_tokens=64")  # fmt: skip
    reply(home, *asked)
    [cell] = (tmp_path / "ablations").iterdir()
    cell.write_text(content, "latin-1")
    result = evaluate(home, *asked)
    assert (result.exit_code, "is damaged" in result.stderr) == (2, True)


@pytest.mark.parametrize(("file", "content"), [("manifest.json", "[]"), ("cases.jsonl", '{"task": "a"}\n')])
def test_a_damaged_run_is_named(home: Path, first: Path, tmp_path: Path, file: str, content: str) -> None:
    copy = shutil.copytree(first, tmp_path / "run")
    (copy / file).write_text(content)
    result = evaluate(home, "compare", first, copy)
    assert (result.exit_code, "is damaged" in result.stderr) == (2, True)


def test_nothing_that_is_typed_is_lost(home: Path, tmp_path: Path) -> None:
    memory, tasks = tmp_path / "memory", tmp_path / "mine.jsonl"
    memory.mkdir()
    (memory / "d.md").write_text("# Boiler\n\nThe boiler of the harbour office was swept in March by Jansen.\n")
    old = '{"id": "d.md:1", "query": "old?", "gold": [{"path": "d.md", "lines": [1, 9]}]}\n'
    old += '{"id": "unknown", "query": "who?", "answerable": false}'
    tasks.write_text(old)
    result = evaluate(home, "propose", memory, tasks, answers="who swept it?\nwho is king?\n-\n.\n")
    assert result.exit_code == 0
    assert "no more passages" in result.stderr
    found = {task.id: task.query for task in read_tasks(tasks)}
    assert found == {"d.md:1": "old?", "unknown": "who?", "d.md:1-2": "who swept it?", "unknown-2": "who is king?"}


def test_a_table_with_an_id_twice_is_refused(home: Path, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("id,query,gold\n1,what?,a.md\n1,again?,b.md\n")
    result = evaluate(home, "import", "csv", tmp_path / "q.csv", tmp_path / "out")
    assert (result.exit_code, "the id 1 twice" in result.stderr) == (2, True)
    (tmp_path / "q.csv").write_text(f"query,gold\n{'x' * 200_000},a.md\n")
    assert "is not csv" in evaluate(home, "import", "csv", tmp_path / "q.csv", tmp_path / "out").stderr
    (tmp_path / "q.csv").write_text("query,gold\nwhat?,a.md\n")
    assert "cannot write" in evaluate(home, "import", "csv", tmp_path / "q.csv", "/proc/x").stderr


def test_a_cross_encoder_is_a_rung(home: Path, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/wall.md").write_text(
        "# Wall\n\nThe harbour wall was mended in spring, the harbour master says.\n"
    )
    (tmp_path / "memory/animals.md").write_text(f"# Animals\n\nThe {WORD} and the {WORD}, beside the harbour wall.\n")
    tasks = tmp_path / "t.jsonl"
    tasks.write_text('{"id": "a", "query": "harbour wall", "gold": ["animals.md"]}\n')
    asked = ["--tasks", tasks, "--corpus", tmp_path / "memory", "--out", home / "cross", "--no-report", "--json"]
    options = json.dumps({"path": str(write_model(tmp_path / "model"))})
    result = CliRunner().invoke(
        client_app.app,
        ["evaluate", *map(str, asked), "--conditions", "hybrid+late-interaction,+cross-encoder"],
        env={
            "XDG_CACHE_HOME": str(home / "cache"), "RECALLD_RECALL__RERANKER": "cross_encoder",
            "RECALLD_RECALL__RERANKER_OPTIONS": options, "RECALLD_RECALL__BLEND": "0",
        },
        catch_exceptions=False,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    late, cross = json.loads(result.stdout)["rungs"]
    assert cross["name"] == "+cross-encoder"
    assert late["ranked"]["reranked"]["MRR"]["value"] == 0.5
    assert cross["ranked"]["reranked"]["MRR"]["value"] == 1.0
