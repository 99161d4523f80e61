"""What documents say of themselves: relations, validity, headers, status lines, kinds."""

from __future__ import annotations

import pytest

from recalld.ingest import dates
from recalld.ingest.kinds import kind_of
from tests.support.parsing import codes, declared, read


@pytest.mark.parametrize(
    ("value", "targets"),
    [
        ("old-a", ["old-a"]),
        ("[old-a, old-a]", ["old-a"]),
        ("[[old-a]]", ["[[old-a]]"]),
        ('"[[old-a]]"', ["[[old-a]]"]),
        ("\n  - old-a\n  - old-b", ["old-a", "old-b"]),
        ("decisions/old-a.md", ["decisions/old-a.md"]),
        ("old-a.md#retry-policy", ["old-a.md#retry-policy"]),
        ("old-a, old-b", ["old-a", "old-b"]),
        ("7", ["7"]),
        ("0161", ["0161"]),
        ("null", []),
        ("", []),
        ("none", []),
        ("N/A", []),
        ("[]", []),
        ("[null]", []),
        ("true", []),
        ("Old-A", ["Old-A"]),
        ("ADR-021 (converter only)", ["ADR-021 (converter only)"]),
        ("[ADR 4](0004-x.md)", ["[ADR 4](0004-x.md)"]),
        ("The plan, the whole plan", ["The plan, the whole plan"]),
    ],
)
def test_targets_are_kept_as_declared(value: str, targets: list[str]) -> None:
    document = read(f"---\nsupersedes: {value}\n---\n\nBody.\n")
    assert declared(document) == [("supersedes", target, "key") for target in targets]


@pytest.mark.parametrize("key", ["superseded_by", "superseded-by", "superseded by", "Superseded-By", "replaced_by"])
def test_keys_as_people_write_them(key: str) -> None:
    document = read(f"---\nid: x\n{key}: new-a\n---\n\nBody.\n")
    (edge,) = document.edges
    assert (edge.kind, edge.target, edge.key, edge.line) == ("superseded_by", "new-a", key, 3)


def test_a_mapping_is_no_target() -> None:
    document = read("---\nsupersedes:\n  id: old-a\n  scope: section 2 only\n---\n\nBody.\n")
    assert declared(document) == []
    assert [(f.code, f.line, f.key) for f in document.findings] == [("edge-unclear", 2, "supersedes")]
    assert document.metadata["supersedes"] == {"id": "old-a", "scope": "section 2 only"}


def test_mail_like_headers_are_metadata_with_their_source() -> None:
    document = read(
        "PEP: 387\nTitle: Backwards Compatibility\nAuthor: A <a@b.c>,\n        B <b@b.c>\nStatus: Active\n"
        "Superseded-By: 634, 635\nReplaces: 291\n\n\nAbstract\n========\n\nText.\n"
    )
    assert document.title == "Backwards Compatibility"
    assert document.metadata["author"] == "A <a@b.c>, B <b@b.c>"
    assert document.metadata["_sources"]["status"] == "header"
    assert declared(document) == [
        ("superseded_by", "634", "header"),
        ("superseded_by", "635", "header"),
        ("supersedes", "291", "header"),
    ]
    assert document.edges[0].line == 6
    assert [chunk.lines for chunk in document.chunks] == [(1, 7), (10, 13)]


def test_frontmatter_wins_over_headers() -> None:
    document = read("---\nstatus: final\n---\nStatus: Draft\nType: Process\n\nText.\n")
    assert document.metadata["status"] == "final"
    assert document.metadata["_sources"] == {"type": "header"}


def test_one_line_with_a_colon_is_prose() -> None:
    assert dict(read("Note: the cache is warm.\n\nText.\n").metadata) == {}


@pytest.mark.parametrize(
    "line",
    [
        "Status: Accepted",
        "- Status: Accepted",
        "**Status:** Accepted",
        "* **Status**: Accepted",
        "> **Status:** Accepted  ",
    ],
)
def test_status_lines(line: str) -> None:
    document = read(f"# ADR 7\n\n{line}\n\n## Context\n\nText.\n")
    assert document.metadata["status"] == "Accepted"
    assert document.metadata["_sources"] == {"status": "header"}


def test_metadata_tables() -> None:
    document = read(
        "# API\n\n|Metadata|Value|\n|---|---|\n|Status  |Implemented|\n|Tags |server, client|\n\n## Context\n\nx\n"
    )
    assert document.metadata["status"] == "Implemented"
    assert document.tags == ("server", "client")


def test_a_status_section() -> None:
    document = read("# 7. Use queues\n\n## Status\n\nSuperseded by [ADR-9](0009-x.md).\n\n## Context\n\nStatus: open\n")
    assert document.metadata["status"] == "Superseded by [ADR-9](0009-x.md)."
    assert declared(document) == [("superseded_by", "[ADR-9](0009-x.md)", "status")]


def test_a_status_that_names_a_successor() -> None:
    document = read("---\nstatus: Superseded by ADR-12\n---\n\nBody.\n")
    assert declared(document) == [("superseded_by", "ADR-12", "status")]
    document = read("# A\n\n- Status: Accepted, supersedes ADR-3\n\nText.\n")
    assert declared(document) == [("supersedes", "ADR-3", "status")]


def test_targets_with_remarks() -> None:
    document = read("# A\n\n- Supersedes: ADR 0004 (workspace, and files), ADR 0006 (skills)\n\nText.\n")
    assert [target for _, target, _ in declared(document)] == ["ADR 0004 (workspace, and files)", "ADR 0006 (skills)"]


def test_only_the_beginning_of_a_document_speaks_of_it() -> None:
    document = read("# A\n\nText.\n\n## Later\n\nStatus: closed\n\nsupersedes: other\n")
    assert dict(document.metadata) == {}
    assert declared(document) == []


def test_code_says_nothing_of_the_document() -> None:
    document = read("# Template\n\n```yaml\n---\nstatus: proposed\nsupersedes: old\n---\n```\n\n    status: x\n")
    assert dict(document.metadata) == {}
    assert document.edges == ()
    assert read('"""Status: x"""\nsupersedes = 1\n', "a.py").edges == ()


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-5-1", "2024-05-01"),
        ("2024-05-01 10:00:00", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01T10:00:00Z", "2024-05-01T10:00:00+00:00"),
        ("2024-05-01T10:00:00.5+02:00", "2024-05-01T10:00:00.500000+02:00"),
        ("2024-05-01 9:00 -0530", "2024-05-01T09:00:00-05:30"),
        ("2024-13-01", None),
        ("2023-02-29", None),
        ("10000-01-01", None),
        ("2024-Q3", None),
        ("2024", None),
        ("1714550400", None),
        ("05/01/2024", None),
        ("2024-05-01T25:00:00Z", None),
        ("soon", None),
    ],
)
def test_dates(text: str, iso: str | None) -> None:
    assert dates.iso(text) == iso


@pytest.mark.parametrize(
    "value", ["2024-13-01", "1714550400", "10000-01-01", "2024-Q3", "2024", "soon", "[2024-01-01]"]
)
def test_a_validity_that_is_no_date_is_an_error_and_kept_as_written(value: str) -> None:
    document = read(f"---\nid: a\nvalid_until: {value}\n---\n\nBody.\n")
    assert [(f.code, f.severity, f.line, f.key) for f in document.findings] == [
        ("invalid-date", "error", 3, "valid_until")
    ]
    assert document.metadata["valid_until"] is not None


@pytest.mark.parametrize("value", ["", "null", "none"])
def test_no_validity_is_no_fault(value: str) -> None:
    document = read(f"---\nid: a\nvalid_until: {value}\n---\n\nBody.\n")
    assert document.findings == ()
    assert document.metadata["valid_until"] is None


def test_validity_in_iso_form() -> None:
    document = read("---\nvalid_from: 2024-5-1\nvalid_until: 2025-05-01 10:00:00\n---\n\nBody.\n")
    assert document.metadata["valid_from"] == "2024-05-01"
    assert document.metadata["valid_until"] == "2025-05-01T10:00:00+00:00"


def test_a_window_that_ends_before_it_begins() -> None:
    document = read("---\nvalid_until: 2023-01-01\nvalid_from: 2024-01-01\n---\n\nBody.\n")
    assert codes(document) == ["validity-empty"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("docs/adr/0007-x.md", "decision"),
        ("ADR-12.md", "decision"),
        ("pep-0387.md", "decision"),
        ("lessons/2024/retries.md", "lesson"),
        ("LESSONS.md", "lesson"),
        ("AGENTS.md", "rule"),
        (".claude/rules/style.md", "rule"),
        ("incidents/db.md", "incident"),
        ("src/a.py", "code"),
        ("logs/app.log", "log"),
        ("config.yaml", "data"),
        ("notes/x.md", "document"),
        ("README", "document"),
    ],
)
def test_kinds_by_path(path: str, kind: str) -> None:
    assert kind_of(path) == kind


def test_kinds_by_frontmatter() -> None:
    assert read("---\nkind: Post Mortem\n---\nx\n").kind == "post_mortem"
    assert read("---\ntype: adr\n---\nx\n").kind == "decision"
    assert read("---\ntype: Standards Track\n---\nx\n", "lessons/a.md").kind == "lesson"
