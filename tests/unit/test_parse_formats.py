"""Plain text, reStructuredText, JSON, YAML, TOML, logs, tables and source code."""

from __future__ import annotations

import json

import pytest

from recalld.ingest.outline import Lines
from recalld.ingest.readers import reader_for
from recalld.ingest.report import Reporter
from tests.support.parsing import codes, declared, read, uncovered


def outline(text: str, path: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Return heading, first and last line of each section."""
    sections = reader_for(path).read(Lines(text), 1, Reporter(path)).sections
    return [(section.heading, section.blocks[0].first, section.blocks[-1].last) for section in sections]


def test_plain_text_and_unknown_suffixes_are_paragraphs() -> None:
    for path in ("a.txt", "LICENSE", "notes.adoc"):
        document = read("# no heading here\n\nOne.\n\nTwo.\n", path)
        assert document.title == path.split(".")[0]
        assert document.chunks[0].heading == ()
        assert not uncovered(document)


RST = """\
=====
Title
=====

:Status: Draft
:Replaces: 12

Intro::

    code here

    more code

Section
-------

.. include:: /etc/passwd

.. code-block:: python

   def f():
       pass

   x = 1

Sub
~~~

Text with :role:`x`.

Another
-------

=====  =====
a      b
=====  =====
1      2
=====  =====
"""


def test_restructuredtext_sections_by_docutils() -> None:
    assert outline(RST, "a.rst") == [
        (("Title",), 1, 12),
        (("Title", "Section"), 14, 24),
        (("Title", "Section", "Sub"), 26, 29),
        (("Title", "Another"), 31, 38),
    ]
    document = read(RST, "a.rst")
    assert document.title == "Title"
    assert document.metadata["status"] == "Draft"
    assert declared(document) == [("supersedes", "12", "header")]
    assert "root:" not in "".join(chunk.embed_text for chunk in document.chunks)
    assert not uncovered(document)


def test_restructuredtext_that_is_none_is_text() -> None:
    document = read("Title\n=\n\n* a\n no\n``open\n\n.. [#x\n\n====\nover\n\nend\n", "a.rst")
    assert not uncovered(document)


YAML = """\
# settings
store:
  dsn: postgres
  pool:
    size: 8
bus:
  servers:
    - name: a
      url: b
"""


def test_yaml_keys_are_headings_two_levels_deep() -> None:
    assert outline(YAML, "a.yaml") == [
        ((), 1, 1),
        (("store",), 2, 2),
        (("store", "dsn"), 3, 3),
        (("store", "pool"), 4, 5),
        (("bus",), 6, 6),
        (("bus", "servers"), 7, 9),
    ]
    assert not uncovered(read(YAML, "a.yaml"))


def test_small_keys_share_a_chunk() -> None:
    assert len(read(YAML, "a.yaml").chunks) == 1


def test_json_keys_and_json_without_line_breaks() -> None:
    value = {"store": {"dsn": "postgres"}, "bus": [1, 2]}
    text = json.dumps(value, indent=2)
    headings = [heading for heading, _, _ in outline(text, "a.json")]
    assert headings == [(), ("store",), ("store", "dsn"), ("bus",)]
    assert len(read(json.dumps(value), "a.json").chunks) == 1


def test_toml_tables_are_headings() -> None:
    assert outline("x = 1\n\n[a.b]\ny = 2\n\n[[c]]\nz = 3\n", "a.toml") == [
        ((), 1, 1),
        (("a.b",), 3, 4),
        (("c",), 6, 7),
    ]


@pytest.mark.parametrize(
    ("path", "text", "code", "line"),
    [
        ("a.json", '{\n "a": 1,\n}\n', "json-broken", 3),
        ("a.json", "[" * 100_000, "json-broken", 1),
        ("a.yaml", "a: 1\nb: [\n", "yaml-broken", 3),
        ("a.yaml", "a: @x\n", "yaml-broken", 1),
        ("a.toml", "a = 1\nb =\n", "toml-broken", 2),
    ],
)
def test_data_that_does_not_parse_is_indexed_and_reported(path: str, text: str, code: str, line: int) -> None:
    document = read(text, path)
    assert [(finding.code, finding.line) for finding in document.findings] == [(code, line)]
    assert not uncovered(document)


def test_data_files_declare_nothing() -> None:
    document = read("supersedes: old\ntitle: T\n", "a.yaml")
    assert document.edges == ()
    assert document.title == "a"


def test_json_lines_are_records() -> None:
    rows = [json.dumps({"event": number, "text": "the ledger was healed by a retry"}) for number in range(60)]
    document = read("\n".join(rows), "a.jsonl")
    assert len(document.chunks) > 3
    assert all(line in rows for chunk in document.chunks for line in chunk.text.split("\n"))


def test_log_entries_keep_their_tracebacks() -> None:
    entry = (
        "2026-05-01 10:00:{0:02d} ERROR ledger {0} failed\nTraceback (most recent call last):\n"
        '  File "ledger.py", line 7, in heal\n    raise ValueError\nValueError: no quorum for entry {0}\n'
    )
    text = "".join(entry.format(number) for number in range(40))
    document = read(text, "logs/app.log")
    assert len(document.chunks) > 5
    assert all(chunk.text.startswith("2026-05-01") for chunk in document.chunks)
    assert not uncovered(document)


def test_logs_without_times_are_lines() -> None:
    text = "".join(f"worker {number} took a job and finished it in good time\n" for number in range(80))
    document = read(text, "app.log")
    assert all(chunk.text.startswith("worker") for chunk in document.chunks)


def test_rows_are_embedded_with_the_names_of_their_columns() -> None:
    text = "name,owner,reason\n" + "".join(f"cache-{n},ann,because of the ledger\n" for n in range(100))
    document = read(text, "a.csv")
    assert len(document.chunks) > 2
    assert all("name,owner,reason" in chunk.embed_text for chunk in document.chunks)


SOURCES = {
    "a.py": (
        '"""Doc."""\nimport os\n\n# why f\n@dec\ndef f(a):\n    return a\n\nclass C(B):\n    """Doc."""\n    y = 2\n\n'
        "    async def m(self):\n        pass\n\n    z = 3\n\nif X:\n    go()\n",
        [
            ((), 1, 2),
            (("f",), 4, 7),
            (("C",), 9, 11),
            (("C", "m"), 13, 14),
            (("C",), 16, 16),
            ((), 18, 19),
        ],
    ),
    "a.ts": (
        "import x from 'y'\nexport const foo = (a: number) => {\n  return a\n}\n/** doc */\nexport default class K {\n"
        "  run(): void { }\n}\ninterface I { a: string }\nconst plain = 5\n",
        [((), 1, 1), (("foo",), 2, 4), (("K",), 5, 6), (("K", "run"), 7, 8), (("I",), 9, 9), ((), 10, 10)],
    ),
    "a.tsx": (
        "export function View() {\n  return <div/>\n}\n\nfunction other() {}\n",
        [(("View",), 1, 3), (("other",), 5, 5)],
    ),
    "a.js": ("function a() {}\n\nclass B {\n  c() {}\n}\n", [(("a",), 1, 1), (("B",), 3, 3), (("B", "c"), 4, 5)]),
    "a.go": (
        "package main\n\n// Foo does.\nfunc Foo() {}\n\nfunc (r *R) Bar() {}\n\ntype T struct {\n\tA int\n}\n",
        [((), 1, 1), (("Foo",), 3, 4), (("Bar",), 6, 6), (("T",), 8, 10)],
    ),
    "a.rs": (
        "use x;\n\n/// Doc\n#[derive(Debug)]\npub struct S { a: u8 }\n\nimpl S {\n    fn new() -> Self { S{a:1} }\n}\n",
        [((), 1, 1), (("S",), 3, 5), (("S",), 7, 7), (("S", "new"), 8, 9)],
    ),
    "A.java": (
        'package p;\n\npublic class A {\n  @Override\n  public String b() { return ""; }\n}\n',
        [((), 1, 1), (("A",), 3, 3), (("A", "b"), 4, 6)],
    ),
    "a.c": (
        "#include <x.h>\n\nstatic int *f(int a) { return 0; }\n\ntypedef struct { int b; } t;\n",
        [((), 1, 1), (("f",), 3, 3), (("t",), 5, 5)],
    ),
    "a.cpp": (
        "namespace n {\ntemplate <class T>\nclass V {\n  void f() {}\n};\n}\n",
        [(("n",), 1, 1), (("n", "V"), 2, 3), (("n", "V", "f"), 4, 6)],
    ),
    "a.rb": (
        "module M\n  class C\n    def a; end\n\n    def self.b\n    end\n  end\nend\n",
        [(("M",), 1, 1), (("M", "C"), 2, 2), (("M", "C", "a"), 3, 3), (("M", "C", "b"), 5, 8)],
    ),
    "a.sh": ("set -e\n# doc\nfoo() {\n  ls\n}\nfoo\n", [((), 1, 1), (("foo",), 2, 5), ((), 6, 6)]),
}


@pytest.mark.parametrize("path", SOURCES)
def test_source_code_by_definitions(path: str) -> None:
    text, expected = SOURCES[path]
    assert outline(text, path) == expected
    document = read(text, path)
    assert document.kind == "code"
    assert not uncovered(document)


def test_a_long_function_keeps_its_signature_in_what_is_embedded() -> None:
    body = "".join(f"        total += weigh(ledger[{number}], reason='because {number}')\n" for number in range(80))
    document = read(f"class Ledger:\n    def heal(self):\n{body}", "a.py")
    later = document.chunks[-1]
    assert later.heading == ("Ledger", "heal")
    assert later.embed_text.startswith("a › Ledger › heal\ndef heal(self):\n")


def test_source_that_does_not_parse_is_indexed() -> None:
    for path, (text, _) in SOURCES.items():
        broken = text.replace("}", "").replace(":", "") + "((((\n'''"
        document = read(broken, path)
        assert not uncovered(document)
        assert codes(document) == []
    hopeless = read("<!--\n" * 3_000, "a.py")
    assert codes(hopeless) == ["source-unreadable"]
    assert not uncovered(hopeless)


@pytest.mark.parametrize("path", sorted(set(SOURCES) | {"a.rst", "a.json", "a.yaml", "a.toml", "a.log", "a.csv"}))
def test_any_reader_takes_any_text(path: str) -> None:
    for text in (
        RST,
        YAML,
        "\x0c\x0b\u2028\u2029\x85 odd",
        "\t\n \n",
        "{{{{",
        "===\n" * 5,
        *(t for t, _ in SOURCES.values()),
    ):
        assert not uncovered(read(text, path))
