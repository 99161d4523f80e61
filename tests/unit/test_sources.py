"""What a repo says of its own files, and that it can say nothing of others."""

from __future__ import annotations

import json

import pytest

from recalld.ingest.sources import JSON, TOML, findings_of, sources_of

SAID = """
[sources]
rule = ["house/*.md", "docs/**/policy-*.md"]
document = "house/about.md"
session = ["diary/"]
paragraphs = "NOTES.md"

[weights]
rule = 1.5
skill = 0

[lessons]
folder = "memory/lessons"
proposed = true
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("house/git.md", "rule"),
        ("docs/a/b/policy-x.md", "rule"),
        ("diary/monday.md", "session-log"),
        ("NOTES.md", "rule"),
        ("lessons/a.md", "lesson"),
        ("CLAUDE.md", "rule"),
        (".cursor/rules/ts.mdc", "rule"),
        ("memory-bank/activeContext.md", "state"),
        ("memory/MEMORY.md", "index"),
        ("memory/facts.md", "memo"),
        (".claude/skills/pdf/SKILL.md", "skill"),
        ("docs/adr/0001-x.md", "decision"),
        ("lessons-learned.md", "lesson"),
        ("src/status/page.md", "document"),
    ],
)
def test_kinds(path: str, kind: str) -> None:
    assert sources_of({TOML: SAID}).kind_of(path) == kind


def test_the_rest_of_it() -> None:
    sources = sources_of({TOML: SAID})
    assert sources.paragraphs.match_file("NOTES.md") and not sources.paragraphs.match_file("house/git.md")
    assert (sources.weight("rule"), sources.weight("skill"), sources.weight("lesson")) == (1.5, 0.0, 1.0)
    assert (sources.folder, sources.proposed) == ("memory/lessons", True)
    assert findings_of(TOML, SAID) == ()


def test_the_file_of_other_tools_is_read_as_it_is() -> None:
    said = {"rules": ["GUIDE.md", "team/*.md"], "paragraphs": ["LOG.md"], "skills_dir": "abilities", "weights": {}}
    sources = sources_of({JSON: json.dumps(said)})
    paths = ("GUIDE.md", "a/GUIDE.md", "team/x.md", "LOG.md", "abilities/y/z.md")
    assert [sources.kind_of(path) for path in paths] == [
        "rule", "document", "rule", "rule", "skill",
    ]  # fmt: skip
    assert findings_of(JSON, json.dumps(said)) == ()


def test_our_own_file_comes_first() -> None:
    files = {TOML: '[sources]\nmemo = "GUIDE.md"\n', JSON: '{"rules": "GUIDE.md"}'}
    assert sources_of(files).kind_of("GUIDE.md") == "memo"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (TOML, "[sources]\nrule = ['../other/*.md']"),
        (TOML, "[sources]\nrule = ['/etc/passwd']"),
        (TOML, "[sources]\nrule = ['a\\\\..\\\\b']"),
        (TOML, "[sources]\nrule = [1]"),
        (TOML, "[sources]\n'../x' = ['a']"),
        (TOML, "[hooks]\nrun = 'rm -rf x'"),
        (TOML, "[weights]\nrule = 1e9"),
        (TOML, "[weights]\nrule = nan"),
        (TOML, "[lessons]\nfolder = '../up'"),
        (TOML, "[lessons]\nrun = 'x'"),
        (TOML, "sources = 3"),
        (TOML, "no toml"),
        (JSON, "[]"),
        (JSON, "{"),
        (JSON, "[" * 100_000),
        (JSON, '{"rules": ["~/x", "a\\nb"], "weights": 3}'),
        (JSON, '{"skills_dir": "/home"}'),
    ],
)
def test_what_cannot_be_is_a_finding_and_the_defaults_stand(path: str, text: str) -> None:
    assert [finding.code for finding in findings_of(path, text)][:1] == ["source-config"]
    sources = sources_of({path: text})
    assert sources.kind_of("CLAUDE.md") == "rule"
    assert sources.folder == "lessons"
