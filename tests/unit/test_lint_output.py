"""What lint tells, in text, JSON and SARIF; baselines; and where it looks."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from recalld.errors import UsageError
from recalld.lint.baseline import compare, read, written
from recalld.lint.catalogue import CODES
from recalld.lint.sarif import sarif
from recalld.model import Finding, Severity
from tests.support.commands import is_known, run
from tests.support.linting import lint, told

ROOT = Path(__file__).parents[2]
BAD = {"a.md": "---\nsupersedes: no-such-memo\n---\nA.\n", "sub/b.md": "# B\n\nSee [x](gone.md).\n"}


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    lint(tmp_path, BAD)
    return tmp_path


def test_text(memory: Path) -> None:
    result = run(f"recall lint {memory}")
    assert result.exit_code == 1
    assert "dangling-supersedes" in result.stdout
    assert "1 error, 1 warning" in result.stdout


def test_json(memory: Path) -> None:
    result = run(f"recall lint {memory} --json")
    findings = json.loads(result.stdout)["findings"]
    assert [(f["code"], f["path"], f["line"], f["severity"]) for f in findings] == [
        ("dangling-supersedes", "a.md", 2, "error"),
        ("broken-link", "sub/b.md", 3, "warning"),
    ]


def test_sarif(memory: Path) -> None:
    log = json.loads(run(f"recall lint {memory} --sarif").stdout)
    assert log["version"] == "2.1.0"
    [found] = log["runs"]
    rules = [rule["id"] for rule in found["tool"]["driver"]["rules"]]
    assert rules == ["broken-link", "dangling-supersedes"]
    first = found["results"][0]
    assert (first["ruleId"], first["level"]) == ("dangling-supersedes", "error")
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "a.md"}, "region": {"startLine": 2}}
    assert sarif([])["runs"][0]["results"] == []


def test_warnings_alone_are_no_failure(tmp_path: Path) -> None:
    lint(tmp_path, {"b.md": BAD["sub/b.md"]})
    assert run(f"recall lint {tmp_path}").exit_code == 0
    assert "nothing to complain about" in run(f"recall lint {tmp_path} --min-severity error").stdout


def test_a_baseline_lets_an_old_repo_in(memory: Path, tmp_path: Path) -> None:
    file = memory / ".lint.json"
    assert run(f"recall lint {memory} --write-baseline {file}").exit_code == 0
    assert run(f"recall lint {memory} --baseline {file}").exit_code == 0
    (memory / "a.md").write_text("\n\n" + BAD["a.md"].replace("A.", "A, moved."))
    (memory / "sub/b.md").write_text("# B\n")
    (memory / "c.md").write_text("---\nsupersedes: c\n---\nC.\n")
    result = run(f"recall lint {memory} --baseline {file} --json")
    reply = json.loads(result.stdout)
    assert result.exit_code == 1
    assert "self-supersedes" in [finding["code"] for finding in reply["findings"]]
    assert "dangling-supersedes" not in [finding["code"] for finding in reply["findings"]]
    assert reply["gone"] == [{"path": "sub/b.md", "code": "broken-link"}]


def test_a_baseline_counts_what_is_alike(memory: Path) -> None:
    findings = lint(memory)
    again = compare([*findings, *findings], read(written(findings)))
    assert (len(again.new), again.known, again.gone) == (len(findings), len(findings), [])


def test_a_baseline_forgives_a_moved_line_and_not_another_number() -> None:
    def told_of(message: str) -> Finding:
        return Finding("memory", "a.md", "near-duplicate", Severity.NOTE, message)

    known = read(written([told_of("82 % like b.md, from line 12"), told_of("the frontmatter has 70,000 characters")]))
    again = compare([told_of("82 % like b.md, from line 14"), told_of("the frontmatter has 70,001 characters")], known)
    assert (again.new, again.known) == ([], 2)
    other = compare([told_of("82 % like c.md, from line 12"), told_of("99 % like b.md, from line 12")], known)
    assert len(other.new) == 2


@pytest.mark.parametrize("text", ["", "[]", '{"version": 9, "findings": []}', '{"version": 1, "findings": [{}]}'])
def test_what_is_no_baseline_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="no baseline"):
        read(text)


def test_files_are_judged_by_the_whole_memory_and_told_alone(memory: Path) -> None:
    (memory / ".git").mkdir()
    (memory / "c.md").write_text("---\nsupersedes: b\n---\nC.\n")
    result = run(f"recall lint {shlex.quote(str(memory / 'c.md'))} --json")
    assert json.loads(result.stdout)["findings"] == []
    assert run(f"recall lint {memory / 'a.md'}").exit_code == 1


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    result = run(f"recall lint {tmp_path / 'none'}")
    assert result.exit_code == 1
    assert "there is no" in result.stderr
    assert run(f"recall lint {tmp_path} --min-severity grave").exit_code == 2
    assert run(f"recall lint {tmp_path} --baseline {tmp_path / 'none'}").exit_code == 1


def test_the_documented_codes_are_those_that_there_are() -> None:
    rows = [line.split("|") for line in (ROOT / "docs/lint.md").read_text().splitlines() if line.startswith("| `")]
    documented = {row[1].strip(" `"): row[2].strip() for row in rows}
    assert documented == {name: str(code.severity) for name, code in CODES.items()}


def test_the_pre_commit_hook_runs_a_command_that_exists() -> None:
    [hook] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["id"] == "recall-lint"
    assert is_known(hook["entry"])


def test_told_is_sorted(memory: Path) -> None:
    assert told(lint(memory)) == [("dangling-supersedes", "a.md"), ("broken-link", "sub/b.md")]
