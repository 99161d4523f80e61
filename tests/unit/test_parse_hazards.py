"""Files that broke other parsers, each with the least that must come of it. Skipped where the collection is not there.

The same hazards, small and of our own, are in the other tests of parsing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recalld.analyze import Analyzer
from recalld.ingest.content import is_binary
from recalld.model import ParsedDocument
from tests.bench.corpora import DATA
from tests.support.parsing import check, codes, declared, read, uncovered

NASTY = DATA / "nasty"
pytestmark = pytest.mark.skipif(not NASTY.is_dir(), reason=f"no {NASTY}")


def document(name: str) -> ParsedDocument:
    (path,) = NASTY.glob(f"*/**/{name}*")
    return read(path.read_bytes(), path.name)


def found(name: str, query: str) -> bool:
    """Tell whether every term of a query is in one chunk."""
    analyzer, parsed = Analyzer(), document(name)
    terms = set(analyzer.query(query))
    return any(
        terms <= set(analyzer.document(parsed.title, parsed.path, chunk.heading, chunk.text).frequencies)
        for chunk in parsed.chunks
    )


def finding(parsed: ParsedDocument, code: str) -> tuple[int | None, str | None]:
    return next((each.line, each.key) for each in parsed.findings if each.code == code)


def body_is_indexed(parsed: ParsedDocument) -> bool:
    first = max((chunk.lines[0] for chunk in parsed.chunks if chunk.heading), default=0)
    return bool(first) and not uncovered(parsed, first)


def test_every_file_of_the_collection_is_read() -> None:
    names = [row["file"] for row in json.loads((NASTY / "manifest.json").read_text())]
    assert len(names) > 60
    for name in names:
        content = (NASTY / name).read_bytes()
        assert not is_binary(content), name
        parsed = read(content, name)
        assert parsed.metadata or not uncovered(parsed), name
        assert all(each.message and each.hint and each.path == name for each in parsed.findings)


BROKEN = {
    "r05": (18, None),
    "r07": (8, "reviewers"),
    "r09": (7, "reviewers"),
    "r11": (2, "title"),
    "r15": (20, "see-also"),
    "r29": (3, "description"),
    "m04": (4, "tags"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_frontmatter_names_the_line_and_the_body_is_indexed(name: str) -> None:
    parsed = document(name)
    assert finding(parsed, "frontmatter-broken") == BROKEN[name]
    assert body_is_indexed(parsed)


OUTCOMES: dict[str, Callable[[ParsedDocument], bool]] = {
    "r01": lambda p: finding(p, "invalid-date") == (15, "creation_date") and body_is_indexed(p),
    "r02": lambda p: finding(p, "invalid-date")[1] == "last_updated" and body_is_indexed(p),
    "r06": lambda p: finding(p, "frontmatter-duplicate-key") == (19, "see-also"),
    "r07": lambda p: ("supersedes", "/enhancements/storage/csi-ebs-operator.md", "key") in declared(p),
    "r11": lambda p: p.title == "Azure: Allow Customer-Provisioned Virtual Network & Subnets",
    "r13": lambda p: p.title == "microshift-coredns-hosts" and codes(p) == ["frontmatter-late"],
    "r15": lambda p: finding(p, "placeholder-date") == (16, "creation_date"),
    "r17": lambda p: ("superseded_by", "/enhancements/our-past-effort.md", "key") in declared(p),
    "r20": lambda p: declared(p) == [("supersedes", "0161", "key")],
    "r23": lambda p: declared(p) == [],
    "r26": lambda p: p.chunks == () and p.findings == (),
    "r27": lambda p: declared(p) == [] and "frontmatter-broken" not in codes(p),
    "r31": lambda p: (
        declared(p) == [] and sum("```yaml\n---" in c.text and "---\n```" in c.text for c in p.chunks) == 1
    ),
    "r33": lambda p: p.chunks[-1].text.endswith(p.text[-20:]),
    "r34": lambda p: declared(p) == [],
    "r35": lambda p: max(len(c.text) for c in p.chunks) <= 1_600 and not uncovered(p),
    "r37": lambda p: not any("csl-json" in name for c in p.chunks for name in c.heading) and body_is_indexed(p),
    "r40": lambda p: p.metadata["status"] == "Withdrawn",
    "r48": lambda p: not uncovered(p),
    "r49": lambda p: p.metadata["timestamp"] == "2026-01-01T00:00:00Z" and declared(p)[0][1] == "b-db-decision",
    "m01": lambda p: dict(p.metadata) == {"id": "bom-crlf", "status": "accepted"},
    "m02": lambda p: "für Postgres" in p.text and p.metadata["id"] == "utf16",
    "m03": lambda p: "Décision: garder le dépôt privé, coût 5 £" in p.text and codes(p) == ["encoding-guessed"],
    "m05": lambda p: not uncovered(p) and declared(p) == [] and p.findings == (),
    "m07": lambda p: p.metadata["id"] == "fmonly",
    "m08": lambda p: declared(p) == [("supersedes", "old-one", "key")],
    "m11": lambda p: declared(p) == [] and {n for c in p.chunks for n in c.heading} <= {"fences", "Real heading"},
    "m13": lambda p: "beforeafter" in p.text and codes(p) == ["nul-bytes"],
    "m14": lambda p: codes(p) == ["frontmatter-too-complex"] and len(json.dumps(dict(p.metadata))) < 2_000,
    "m15": lambda p: finding(p, "frontmatter-tag") == (2, "id"),
    "m19": lambda p: p.metadata["id"] == "cr-only" and p.title == "cr-only",
    "m20": lambda p: p.chunks == (),
    "m21": lambda p: p.chunks == (),
    "date-month13": lambda p: finding(p, "invalid-date") == (3, "valid_until"),
    "date-epoch": lambda p: finding(p, "invalid-date") == (3, "valid_until"),
    "date-year10000": lambda p: finding(p, "invalid-date") == (3, "valid_until"),
    "date-quarter": lambda p: finding(p, "invalid-date") == (3, "valid_until"),
    "date-yearonly": lambda p: finding(p, "invalid-date") == (3, "valid_until"),
    "date-naive": lambda p: p.metadata["valid_until"] == "2024-05-01T10:00:00+00:00",
    "date-z": lambda p: p.metadata["valid_until"] == "2024-05-01T10:00:00+00:00",
    "date-until-before-from": lambda p: codes(p) == ["validity-empty"],
    "date-null": lambda p: p.metadata["valid_until"] is None and p.findings == (),
    "form-scalar": lambda p: [e.target for e in p.edges] == ["old-a"],
    "form-blocklist": lambda p: [e.target for e in p.edges] == ["old-a", "old-b"],
    "form-wikilink-unquoted": lambda p: [e.target for e in p.edges] == ["[[old-a]]"],
    "form-int": lambda p: [e.target for e in p.edges] == ["7"],
    "form-null": lambda p: p.edges == (),
    "form-none": lambda p: p.edges == (),
    "form-dict": lambda p: p.edges == () and codes(p) == ["edge-unclear"],
    "form-hyphen-key": lambda p: declared(p) == [("superseded_by", "new-a", "key")],
    "form-space-key": lambda p: declared(p) == [("superseded_by", "new-a", "key")],
    "form-dup": lambda p: [e.target for e in p.edges] == ["old-a"],
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_least_outcome_holds(name: str) -> None:
    assert OUTCOMES[name](document(name))


def test_crlf_gives_the_hashes_of_lf() -> None:
    (path,) = NASTY.glob("real/r14*")
    content = path.read_bytes()
    assert b"\r\n" in content
    assert read(content).chunks == read(content.replace(b"\r\n", b"\n")).chunks


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("r19", "failurePolicy: Ignore"),
        ("r25", "σ=Signsk(pk)"),
        ("r41", "a\u0300"),
        ("r41", "\u00e0"),
        ("r42", "الذاكرة"),
        ("r44", "持久化内存"),
    ],
)
def test_what_a_person_types_finds_what_is_written(name: str, query: str) -> None:
    assert found(name, query)


def test_each_lesson_of_a_long_file_is_a_unit_of_its_own() -> None:
    parsed = document("r47")
    begun = [sum(line.startswith("## ") for line in chunk.text.split("\n")) for chunk in parsed.chunks]
    assert sum(begun) > 100
    assert sum(count > 1 for count in begun) <= 1
    assert not uncovered(parsed)


def test_all_public_data_is_read() -> None:
    for path in sorted(DATA.rglob("*")):
        if path.is_file() and path.stat().st_size < 400_000 and NASTY not in path.parents and hash_of(path) % 8 == 0:
            parsed = read(path.read_bytes(), path.relative_to(DATA).as_posix())
            check(parsed)


def hash_of(path: Path) -> int:
    """Return a fixed number of a path, to take some of very many."""
    return sum(path.name.encode())
