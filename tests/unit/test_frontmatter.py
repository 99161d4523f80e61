"""Frontmatter: what it says, what it does not say, and what is wrong with it, by line and key."""

from __future__ import annotations

import time

import pytest

from recalld.model import Severity
from tests.support.parsing import codes, declared, read, uncovered


def metadata(text: str) -> dict[str, object]:
    return dict(read(f"---\n{text}\n---\n\n# Body\n\nText.\n").metadata)


def test_no_frontmatter_is_not_broken_frontmatter() -> None:
    document = read("# A\n\nText.\n")
    assert document.findings == ()
    assert dict(document.metadata) == {}


def test_a_rule_on_the_first_line_is_a_rule() -> None:
    document = read("---\n\n# Not frontmatter\n\nA rule comes first.\n\nsupersedes: nothing, this is prose\n")
    assert document.findings == ()
    assert document.edges == ()
    assert document.title == "Not frontmatter"
    assert not uncovered(document)


def test_text_between_two_rules_is_text() -> None:
    document = read("---\nSome prose that stands between rules.\nMore of it: really.\n---\n\nrest\n")
    assert dict(document.metadata) == {}
    assert not uncovered(document)


def test_a_block_that_nothing_closes_is_read_as_text_and_reported() -> None:
    document = read("---\ntitle: T\nstatus: accepted\n\n# A\n\nText.\n")
    assert codes(document) == ["frontmatter-unclosed"]
    assert not uncovered(document)


def test_fields() -> None:
    document = read(
        "---\ntitle: Cache TTL\naliases: [cache, ttl rule]\ntags: '#infra, cache'\nkind: ADR\nstatus: accepted\n"
        "pinned: true\nscope: billing\ncheck: grep ttl\n---\n\nText.\n"
    )
    assert (document.title, document.kind) == ("Cache TTL", "decision")
    assert document.aliases == ("cache", "ttl rule")
    assert document.tags == ("infra", "cache")
    assert document.metadata["pinned"] is True
    assert document.metadata["check"] == "grep ttl"


def test_keys_are_folded_and_named_by_their_source_where_they_are_synonyms() -> None:
    found = metadata("Superseded-By: new\nreplaces: old\nexpires: 2026-05-01\nlastUpdated: 2024-01-01")
    assert found["superseded_by"] == "new"
    assert found["supersedes"] == "old"
    assert found["valid_until"] == "2026-05-01"
    assert found["last_updated"] == "2024-01-01"
    assert found["_sources"] == {"supersedes": "key replaces", "valid_until": "key expires"}


def test_scalars_keep_what_was_written() -> None:
    found = metadata(
        "title: 2024-06-01\nid: 0161\nversion: 3.10\nratio: 0.5\ncount: 12\nyes: yes\nno: no\non: true\nhex: 0x1F\n"
        "time: 12:30\nbig: 123456789012345678901234567890\nnothing: ~\nquoted: '12'\nnan: .nan"
    )
    assert found == {
        "title": "2024-06-01",
        "id": "0161",
        "version": "3.10",
        "ratio": 0.5,
        "count": 12,
        "yes": "yes",
        "no": "no",
        "on": True,
        "hex": "0x1F",
        "time": "12:30",
        "big": "123456789012345678901234567890",
        "nothing": None,
        "quoted": "12",
        "nan": ".nan",
    }


def test_a_title_that_is_a_date_or_number_is_a_title() -> None:
    assert read("---\ntitle: 2024-06-01\n---\nx\n").title == "2024-06-01"
    assert read("---\ntitle: 42\n---\nx\n").title == "42"


@pytest.mark.parametrize(
    ("text", "line", "key", "expected"),
    [
        ("id: 1\ntitle: Azure: allow it\nstatus: ok", 3, "title", {"title": "Azure: allow it", "status": "ok"}),
        ("tags:\n\t- a\n\t- b\nstatus:\tok", 3, "tags", {"tags": ["a", "b"], "status": "ok"}),
        ("who:\n  - @ann\n  - @bob\nstatus: ok", 3, "who", {"who": ["@ann", "@bob"], "status": "ok"}),
        (
            'who:\n  - “ann”\n  - "bob”\nreplaces:\n  - old.md',
            4,
            "who",
            {"who": ["ann", "bob"], "replaces": ["old.md"]},
        ),
        ("title: T\nsee-also:[]\nreplaces:[]", 4, None, {"title": "T", "see_also": [], "replaces": []}),
        ("x: [a, b\nstatus: ok", 3, None, {"status": "ok"}),
        ("x: 'open\nstatus: ok", None, None, {"status": "ok"}),
        ("x: @at\nstatus: ok", 2, "x", {"x": "@at", "status": "ok"}),
        ("supersedes: *x*\nstatus: ok", 2, "supersedes", {"status": "ok"}),
    ],
)
def test_a_broken_block_is_a_finding_that_names_the_line_and_the_rest_is_read(
    text: str, line: int | None, key: str | None, expected: dict[str, object]
) -> None:
    document = read(f"---\n{text}\n---\n\n# Body\n\nStill here.\n")
    broken = [finding for finding in document.findings if finding.code == "frontmatter-broken"]
    assert broken[0].severity is Severity.ERROR
    assert broken[0].hint
    if line is not None:
        assert broken[0].line == line
    if key is not None:
        assert broken[0].key == key
    assert {name: document.metadata.get(name) for name in expected} == expected
    assert "Still here." in document.chunks[-1].text
    assert not uncovered(document)


def test_a_date_that_does_not_exist_breaks_nothing() -> None:
    document = read("---\ntitle: T\ncreation-date: 2020-23-01\nlast-updated: yyyy-mm-dd\n---\n\nBody.\n")
    assert [(f.code, f.line, f.key) for f in document.findings] == [
        ("invalid-date", 3, "creation_date"),
        ("placeholder-date", 4, "last_updated"),
    ]
    assert document.title == "T"
    assert "Body." in document.chunks[-1].text


def test_a_key_that_stands_twice_is_reported() -> None:
    document = read("---\nsee-also: a\nid: 1\nsee-also: b\n---\n\nBody.\n")
    assert [(f.code, f.line, f.key) for f in document.findings] == [("frontmatter-duplicate-key", 4, "see-also")]


def test_blank_lines_before_and_dots_behind() -> None:
    document = read("\n\n---\nid: a\n---\nBody.\n")
    assert document.metadata["id"] == "a"
    assert [(f.code, f.severity, f.line) for f in document.findings] == [("frontmatter-late", Severity.NOTE, 3)]
    document = read("---\nid: dots\nsupersedes: old-one\n...\n\n# Dots\n")
    assert declared(document) == [("supersedes", "old-one", "key")]


def test_a_block_without_body_or_line_end() -> None:
    document = read("---\nid: only\nstatus: accepted\n---", "only.md")
    assert document.metadata["status"] == "accepted"
    assert [chunk.lines for chunk in document.chunks] == [(1, 4)]


def test_toml_between_plus_signs() -> None:
    document = read('+++\ntitle = "T"\ndate = 2024-05-01\ntags = ["a"]\n+++\n\nBody.\n')
    assert (document.title, document.tags) == ("T", ("a",))
    assert document.metadata["date"] == "2024-05-01"
    broken = read("+++\ntitle = T\n+++\n\nBody.\n")
    assert [(f.code, f.line) for f in broken.findings] == [("frontmatter-broken", 2)]
    assert broken.title == "T"


def test_an_object_tag_is_refused_and_the_other_keys_are_read() -> None:
    document = read("---\nid: !!python/object/apply:os.getcwd []\nstatus: ok\n---\n\nBody.\n")
    assert [(f.code, f.line, f.key) for f in document.findings] == [("frontmatter-tag", 2, "id")]
    assert document.metadata["id"] is None
    assert document.metadata["status"] == "ok"


def test_aliases_that_multiply_are_refused() -> None:
    levels = "\n".join(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]" for a, b in zip("abcdef", "bcdefg", strict=True))
    begun = time.perf_counter()
    document = read("---\na: &a [x,x,x,x,x,x,x,x,x,x]\n" + levels + "\nstatus: ok\n---\n\nBody.\n")
    assert time.perf_counter() - begun < 1
    assert codes(document) == ["frontmatter-too-complex"]
    assert document.metadata["status"] == "ok"
    assert len(str(document.metadata)) < 10_000


def test_an_alias_of_itself_is_refused() -> None:
    assert codes(read("---\na: &a [*a]\n---\n\nBody.\n")) == ["frontmatter-broken"]


@pytest.mark.parametrize(
    "block", ["a: " + "[" * 30_000, "a: " + "{" * 30_000, "\n".join(f"{' ' * n}k{n}:" for n in range(200))]
)
def test_deep_nesting_is_refused_quickly(block: str) -> None:
    begun = time.perf_counter()
    document = read(f"---\n{block}\n---\n\nBody.\n")
    assert time.perf_counter() - begun < 2
    assert codes(document)[0] in ("frontmatter-broken", "frontmatter-too-complex")
    assert document.chunks[-1].text == "Body."


def test_a_huge_block_is_read_line_by_line_and_searched_as_text() -> None:
    document = read("---\nstatus: ok\n" + "".join(f"key{n}: value {n}\n" for n in range(4_900)) + "---\n\nBody.\n")
    assert codes(document) == ["frontmatter-too-large"]
    assert document.metadata["status"] == "ok"
    assert not uncovered(document)


def test_template_placeholders_are_values_and_no_relations() -> None:
    document = read(
        "---\ntitle: {{title}}\nsupersedes: {{old}}\nsuperseded_by: <% tp.file %>\nreplaces: '{old}'\n---\n\nBody.\n"
    )
    assert document.findings == ()
    assert declared(document) == []
    assert document.metadata["title"] == "{{title}}"


def test_values_that_json_or_postgres_would_refuse_are_cleaned() -> None:
    document = read('---\na: "x\\0y"\nb: "\\ud83d\\ude00"\nc: {1: 2, null: 3}\n---\n\nBody.\n')
    assert document.metadata.get("a") in ("xy", '"x\\0y"', "x\\0y")
    assert document.metadata.get("c") is not None


def test_frontmatter_worth_finding_is_a_passage_and_housekeeping_is_not() -> None:
    telling = read("---\nid: a\ndescription: How the ledger heals itself\n---\n\n# L\n\nBody.\n")
    assert [chunk.lines for chunk in telling.chunks] == [(1, 4), (6, 8)]
    housekeeping = read("---\nid: a\nstatus: accepted\nvalid_until: 2027-01-01\n---\n\n# L\n\nBody.\n")
    assert [chunk.lines for chunk in housekeeping.chunks] == [(7, 9)]
