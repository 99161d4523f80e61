"""Lint over real memories: no crash, no circle that is none, every known supersession seen with its side."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from recalld.ingest.parse import read
from recalld.trust.graph import Graph
from recalld.trust.members import member
from tests.support.linting import lint

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the public data is not here")


@pytest.mark.parametrize(
    "name", ["peps", "adr-nats", "adr-memu", "mem-til", "mem-sddk", "mem-litestream", "mem-locallama"]
)
def test_real_memories(name: str) -> None:
    counts = Counter(finding.code for finding in lint(DATA / name))
    assert counts["supersession-cycle"] == 0
    assert counts["secret"] == 0


def test_nasty_files_are_told_of_and_stop_nothing() -> None:
    findings = lint(DATA / "nasty")
    counts = Counter(finding.code for finding in findings)
    assert counts["frontmatter-broken"] >= 5
    assert counts["invalid-date"] >= 5
    [circle] = [finding for finding in findings if finding.code == "supersession-cycle"]
    assert "cycles/" in circle.path


def test_a_proposed_decision_replaces_nothing_and_part_of_one_is_a_part() -> None:
    findings = [finding for finding in lint(DATA / "adr-memu") if "0007" in finding.path]
    told = {(finding.code, "0006" in finding.message) for finding in findings}
    assert told == {("unadopted-supersedes", False), ("partial-supersession", True)}


def test_every_known_pair_of_peps_is_seen_with_the_side_that_declares_it() -> None:
    documents = [read(path.name, path.read_bytes()).document for path in sorted((DATA / "peps/docs").glob("*.md"))]
    graph = Graph(
        member(number, "", d.path, d.title, d.aliases, d.metadata, ((edge, None) for edge in d.edges))
        for number, d in enumerate(documents)
    )
    ids = {each.path: each.id for each in graph.members.values()}
    for pair in json.loads((DATA / "peps/edges.json").read_text()):
        links = [link for link in graph.links[ids[f"{pair['old']}.md"]] if link.new == ids[f"{pair['new']}.md"]]
        sides = {link.own for link in links if link.claim.source != "prose"}
        assert sides == ({True} if pair["declared_on_old"] else set()) | ({False} if pair["declared_on_new"] else set())
