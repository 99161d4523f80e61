"""Verdicts: the open specification's vectors, and the rules where it is silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recalld.trust.verdict import Verdict, judge_confidence
from tests.support.validity import day, graph_of, judged, verdict

SPECIFIED = {
    "a.md": "---\nvalid_until: 2026-06-30\n---\nA.\n",
    "b.md": "---\nsupersedes: [[a]]\nvalid_from: 2026-07-01\n---\nB.\n",
    "c.md": "---\nsupersedes: b.md\n---\nC.\n",
    "d.md": "---\nvalid_from: 2026-12-01\nvalid_until: 2026-11-01\n---\nD.\n",
}
RECORDED = {"a.md": "2026-01-10", "b.md": "2026-07-01", "c.md": "2026-08-01", "d.md": "2026-01-01"}
PEPS = Path(__file__).parents[3] / "shared" / "data" / "peps"


@pytest.mark.parametrize(
    ("path", "now", "known", "expected"),
    [
        ("a.md", "2026-08-19", None, ("superseded", "c.md")),
        ("b.md", "2026-08-19", None, ("superseded", "c.md")),
        ("c.md", "2026-08-19", None, ("ok", None)),
        ("d.md", "2026-08-19", None, ("invalid_metadata", None)),
        ("a.md", "2026-08-19", "2026-07-15", ("superseded", "b.md")),
        ("c.md", "2026-08-19", "2026-07-15", ("not_yet_known", None)),
        ("a.md", "2026-08-19", "2026-01-05", ("not_yet_known", None)),
        ("a.md", "2026-05-01", "2026-06-01", ("ok", None)),
        ("a.md", "2026-08-19", "2026-06-01", ("expired", None)),
    ],
)
def test_validity_frontmatter_vectors_1_to_9(
    path: str, now: str, known: str | None, expected: tuple[str, str | None]
) -> None:
    graph = graph_of(SPECIFIED, RECORDED)
    assert verdict(graph, path, day(now), day(known) if known else None) == expected


@pytest.mark.parametrize("path", ["notes/policy.md", "archive/policy.md"])
def test_validity_frontmatter_vectors_10_and_11(path: str) -> None:
    graph = graph_of(
        {"notes/policy.md": "N.\n", "archive/policy.md": "A.\n", "update.md": "---\nsupersedes: policy\n---\nU.\n"}
    )
    judgement = judged(graph, path)
    assert judgement.verdict == "ambiguous_supersession"
    assert "update.md" in judgement.reason
    assert "archive/policy.md or notes/policy.md" in judgement.reason
    assert verdict(graph, "update.md") == ("ok", None)


def test_a_path_tells_files_of_one_name_apart() -> None:
    files = {
        "notes/policy.md": "N.\n",
        "archive/policy.md": "A.\n",
        "u.md": "---\nsupersedes: archive/policy.md\n---\nU.\n",
    }
    graph = graph_of(files)
    assert verdict(graph, "archive/policy.md") == ("superseded", "u.md")
    assert verdict(graph, "notes/policy.md") == ("ok", None)


@pytest.mark.parametrize(
    "declaration",
    [
        "superseded_by: new-queue",
        "superseded_by: '[[new-queue]]'",
        "superseded_by: [[new-queue|the new one]]",
        "superseded_by: decisions/0012-new-queue.md",
        "superseded_by: 0012-new-queue.MD",
        "superseded_by: 12",
        "superseded_by: ADR-12",
        "superseded_by: adr 0012",
        "superseded_by: QUEUE-2",
        "superseded_by: The new queue",
        "replaced_by: ['ADR-12']",
        "status: Superseded by ADR-12",
        "status: superseded by [ADR 12](0012-new-queue.md)",
    ],
)
def test_successors_as_people_write_them(declaration: str) -> None:
    new = "---\nid: QUEUE-2\naliases: [new-queue]\n---\n# The new queue\n"
    graph = graph_of({"decisions/0003-old.md": f"---\n{declaration}\n---\nOld.\n", "decisions/0012-new-queue.md": new})
    assert verdict(graph, "decisions/0003-old.md") == ("superseded", "decisions/0012-new-queue.md")


@pytest.mark.parametrize(
    "text",
    [
        "# 3. Old\n\n## Status\n\nSuperseded by [12. New](0012-new.md)\n\n## Context\n\nx\n",
        "# Old\n\n- Status: Superseded by ADR 12\n\nText.\n",
        "# Old\n\n| Metadata | Value |\n|---|---|\n| Status | Superseded by ADR-12 |\n\nText.\n",
        "Title: Old\nStatus: Final\nSuperseded-By: 12\n\nText.\n",
    ],
)
def test_successors_without_frontmatter(text: str) -> None:
    graph = graph_of({"adr/0003-old.md": text, "adr/0012-new.md": "# 12. New\n"})
    assert verdict(graph, "adr/0003-old.md") == ("superseded", "adr/0012-new.md")


def test_a_bare_number_means_the_one_in_the_same_folder() -> None:
    files = {"a/0001-x.md": "x\n", "b/0001-y.md": "y\n", "b/0002-z.md": "---\nsupersedes: 1\n---\nz\n"}
    graph = graph_of(files)
    assert verdict(graph, "b/0001-y.md") == ("superseded", "b/0002-z.md")
    assert verdict(graph, "a/0001-x.md") == ("ok", None)


@pytest.mark.parametrize("status", ["Proposed", "draft", "Rejected (2025-01-02)", "**Withdrawn**", "deferred"])
def test_what_was_never_in_force_replaces_nothing(status: str) -> None:
    graph = graph_of({"old.md": "Old.\n", "new.md": f"---\nstatus: '{status}'\nsupersedes: old\n---\nNew.\n"})
    assert verdict(graph, "old.md") == ("ok", None)


def test_what_cannot_be_read_replaces_nothing() -> None:
    graph = graph_of({"old.md": "Old.\n", "new.md": "---\nvalid_from: someday\nsupersedes: old\n---\nNew.\n"})
    assert verdict(graph, "old.md") == ("ok", None)
    assert verdict(graph, "new.md") == ("invalid_metadata", None)


@pytest.mark.parametrize("standing", ["valid_until: 2026-01-01", "status: deprecated"])
def test_nothing_comes_back_to_life_when_its_successor_ends(standing: str) -> None:
    graph = graph_of({"old.md": "Old.\n", "new.md": f"---\n{standing}\nsupersedes: old\n---\nNew.\n"})
    assert verdict(graph, "old.md") == ("superseded", "new.md")


def test_the_authors_own_word_retires_a_document_even_for_a_proposal() -> None:
    graph = graph_of({"old.md": "---\nsuperseded_by: new\n---\nOld.\n", "new.md": "---\nstatus: proposed\n---\nNew.\n"})
    assert verdict(graph, "old.md") == ("superseded", "new.md")


def test_a_successor_that_is_not_in_the_memory() -> None:
    graph = graph_of(
        {"old.md": "---\nsuperseded_by: elsewhere\n---\nOld.\n", "new.md": "---\nsupersedes: gone\n---\nNew.\n"}
    )
    assert verdict(graph, "old.md") == ("superseded", None)
    assert "elsewhere" in judged(graph, "old.md").reason
    assert verdict(graph, "new.md") == ("ok", None)


def test_a_superseded_document_holds_until_its_successor_does() -> None:
    old = "---\nstatus: superseded\nsuperseded_by: new\nvalid_from: 2023-01-01\n---\nOld.\n"
    graph = graph_of({"old.md": old, "new.md": "---\nvalid_from: 2025-02-03\n---\nNew.\n"})
    assert verdict(graph, "old.md", day("2024-07-15")) == ("ok", None)
    assert verdict(graph, "new.md", day("2024-07-15")) == ("not_yet_valid", None)
    assert verdict(graph, "old.md", day("2025-02-03")) == ("superseded", "new.md")
    assert verdict(graph, "old.md", day("2022-07-15")) == ("not_yet_valid", None)


@pytest.mark.parametrize(
    "target",
    ["old (in part)", "old (rule 1 only)", "old.md#retries", "[[old#Retries]]", "old (the converter)", "old \u00a7 3"],
)
def test_a_part_never_hides_the_whole(target: str) -> None:
    graph = graph_of({"old.md": "# Queues\n", "new.md": f"---\nsupersedes: '{target}'\n---\nNew.\n"})
    assert verdict(graph, "old.md") == ("ok", None)
    assert [graph.members[link.old].path for link in graph.partial] == ["old.md"]


@pytest.mark.parametrize("target", ["old (Queues in Postgres)", "old (2024-05-01)", "ADR 3 (queues, postgres)"])
def test_a_remark_that_repeats_the_title_limits_nothing(target: str) -> None:
    graph = graph_of(
        {"old.md": "---\nid: ADR-3\n---\n# Queues in Postgres\n", "new.md": f"---\nsupersedes: '{target}'\n---\nNew.\n"}
    )
    assert verdict(graph, "old.md") == ("superseded", "new.md")


def test_a_remark_that_shares_words_with_the_title_and_says_more_is_a_part() -> None:
    files = {
        "0004-memorize.md": "# Workspace memorize and memory file system\n",
        "0006-store.md": "# From memory item to a tracked RecallFile store\n",
        "0007-lines.md": "# Lines\n\n- Status: Accepted\n"
        "- Supersedes: ADR 0004 (workspace memorize + memory file system), ADR 0006 (skill as a `RecallFile` track)\n",
    }
    graph = graph_of(files)
    assert verdict(graph, "0004-memorize.md") == ("superseded", "0007-lines.md")
    assert verdict(graph, "0006-store.md") == ("ok", None)
    assert [graph.members[link.old].path for link in graph.partial] == ["0006-store.md"]


def test_a_status_in_part_is_not_superseded() -> None:
    graph = graph_of({"adr-1.md": "# A\n\nStatus: Partially superseded by ADR-2\n", "adr-2.md": "B\n"})
    assert verdict(graph, "adr-1.md") == ("ok", None)


def test_prose_never_acts() -> None:
    graph = graph_of(
        {"old.md": "# Old\n\nText.\n\nThis was superseded by [[new]] in May.\n", "new.md": "New, replaces old.md.\n"}
    )
    assert verdict(graph, "old.md") == ("ok", None)
    assert {claim.source for member in graph.members.values() for claim in member.claims} == {"prose"}


def test_a_circle_has_no_current_member() -> None:
    graph = graph_of(
        {
            "a.md": "---\nsupersedes: b\n---\nA\n",
            "b.md": "---\nsupersedes: a\n---\nB\n",
            "c.md": "---\nsuperseded_by: a\n---\nC\n",
        }
    )
    assert (
        verdict(graph, "a.md")[0] == verdict(graph, "b.md")[0] == verdict(graph, "c.md")[0] == "ambiguous_supersession"
    )
    assert list(graph.circles(day("2026-01-01"))) == [(0, 1)]


def test_a_claim_on_oneself_is_nothing() -> None:
    assert verdict(graph_of({"a.md": "---\nsupersedes: a\n---\nA\n"}), "a.md") == ("ok", None)


def test_a_fork_names_the_one_that_both_sides_name_and_the_other() -> None:
    graph = graph_of(
        {
            "old.md": "---\nsuperseded_by: y\n---\n",
            "x.md": "---\nsupersedes: old\n---\nX\n",
            "y.md": "---\nsupersedes: old\n---\nY\n",
        }
    )
    assert verdict(graph, "old.md") == ("superseded", "y.md")
    assert "x.md replaced it, too" in judged(graph, "old.md").reason
    assert "both files say so" in judged(graph, "old.md").reason


def test_one_side_is_enough_and_said_so() -> None:
    graph = graph_of({"old.md": "Old.\n", "new.md": "---\nsupersedes: old\n---\nNew.\n"})
    assert judged(graph, "old.md").reason == "superseded by new.md; new.md alone says so"


def test_a_record_speaks_of_two_other_documents() -> None:
    record = "---\nkind: supersession\nold: decisions/a.md\nnew: decisions/b.md\n---\nWhy.\n"
    graph = graph_of({"decisions/a.md": "A\n", "decisions/b.md": "B\n", "supersessions/x.md": record})
    assert verdict(graph, "decisions/a.md") == ("superseded", "decisions/b.md")
    assert verdict(graph, "supersessions/x.md") == ("ok", None)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Superseded", "superseded"),
        ("Deprecated (use the new one)", "retired"),
        ("obsolete", "retired"),
        ("Rejected", "ok"),
        ("Withdrawn", "ok"),
        ("Accepted", "ok"),
        ("Partially superseded", "ok"),
    ],
)
def test_statuses(status: str, expected: str) -> None:
    assert verdict(graph_of({"a.md": f"---\nstatus: {status}\n---\nA\n"}), "a.md")[0] == expected


def test_a_day_is_valid_to_its_last_moment() -> None:
    graph = graph_of({"a.md": "---\nvalid_from: 2026-01-02\nvalid_until: 2026-01-02\n---\nA\n"})
    assert verdict(graph, "a.md", day("2026-01-02").replace(hour=23, minute=59, second=59))[0] == "ok"
    assert verdict(graph, "a.md", day("2026-01-03"))[0] == "expired"
    assert verdict(graph, "a.md", day("2026-01-01").replace(hour=23))[0] == "not_yet_valid"


@pytest.mark.parametrize(("confidence", "expected"), [(None, "unverified"), (0.5, "ok"), (0.499, "low_confidence")])
def test_confidence(confidence: float | None, expected: str) -> None:
    found = judge_confidence(confidence).verdict
    assert found == expected
    assert found.answers == (expected != "low_confidence")
    assert not Verdict.SUPERSEDED.answers


@pytest.mark.skipif(not PEPS.is_dir(), reason="the PEPs are not here")
def test_no_superseded_pep_is_served_while_its_successor_is_valid() -> None:
    graph = graph_of({path.name: path.read_text() for path in sorted((PEPS / "docs").glob("*.md"))})
    served = []
    for pair in json.loads((PEPS / "edges.json").read_text()):
        old, _ = verdict(graph, f"{pair['old']}.md")
        if old in ("ok", "unverified"):
            served.append((pair["old"], pair["new"], pair["old_status"], pair["new_status"]))
    assert served == [("pep-0382", "pep-0402", "Rejected", "Rejected")]  # its successor never was in force
