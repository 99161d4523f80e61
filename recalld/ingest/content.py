"""What can be said of a file's bytes and name before reading it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

SAMPLE_BYTES = 8192
"""How much of a file is looked at to tell text from binary."""

_MAGIC = (
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF-",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x7fELF",
    b"SQLite format 3\x00",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"7z\xbc\xaf",
    b"RIFF",
    b"OggS",
    b"\xca\xfe\xba\xbe",
    b"\x00asm",
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\b\x1b\x00")) + b"\x7f"


def content_hash(content: bytes) -> str:
    """Return the sha256 of a file's bytes, in hex."""
    return hashlib.sha256(content).hexdigest()


def is_binary(content: bytes) -> bool:
    """Tell whether bytes are no text in any encoding that recalld reads. A stray NUL in a text is not enough."""
    sample = content[:SAMPLE_BYTES]
    if not sample or sample.startswith(_BOMS):
        return False
    if sample.startswith(_MAGIC):
        return True
    nuls = sample.count(0)
    if nuls and utf16_without_bom(sample) is None and (nuls * 100 > len(sample) + 400 or not _is_utf8(sample)):
        return True
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return controls * 20 > len(sample)


def utf16_without_bom(sample: bytes) -> str | None:
    """Return the codec of UTF-16 text that came without its mark, seen by where its NULs stand."""
    half = len(sample) // 2
    if half < 2:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd * 10 >= half * 6 and even * 20 <= half:
        return "utf-16-le"
    if even * 10 >= half * 6 and odd * 20 <= half:
        return "utf-16-be"
    return None


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end >= len(sample) and len(sample) == SAMPLE_BYTES
    return True


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CODE_SUFFIXES = _words(
    """
    .py .pyi .js .jsx .mjs .cjs .ts .tsx .mts .cts .go .rs .java .c .h .cc .cpp .cxx .hpp .hh .hxx .rb .sh .bash
    .zsh .kt .swift .scala .cs .php .lua .pl .r .jl .ex .exs .erl .hs .ml .clj .dart .sql .css .scss .vue .svelte
    .nix .zig .ps1 .fish .groovy .m .mm .proto .graphql .tf
    """
)
DATA_SUFFIXES = _words(
    """
    .json .jsonl .ndjson .jsonc .yaml .yml .toml .csv .tsv .ini .cfg .xml
    """
)
LOG_SUFFIXES = frozenset({".log"})

_KIND_WORDS: Mapping[str, str] = {
    word: kind
    for kind, words in {
        "decision": "decision decisions adr adrs rfc rfcs proposal proposals pep peps",
        "lesson": "lesson lessons til learnings learning lessons-learned",
        "rule": "rule rules policy policies guideline guidelines conventions",
        "session": "session sessions journal journals handoff handoffs daily",
        "incident": "incident incidents postmortem postmortems outage outages",
        "skill": "skill skills",
        "spec": "spec specs specification specifications",
        "runbook": "runbook runbooks playbook playbooks howto howtos",
    }.items()
    for word in words.split()
}
_RULE_FILES = frozenset({"agents.md", "claude.md", "gemini.md", "copilot-instructions.md", ".cursorrules"})
_NAMED = re.compile(r"^(?:([a-z]+)[-_ ]?\d+|([a-z]+(?:-[a-z]+)?)$)")


def kind_named(word: str) -> str | None:
    """Return the kind that a word stands for (``adr`` and ``decisions`` are ``decision``), None for other words."""
    return _KIND_WORDS.get(word.strip().casefold())


def kind_of(path: str) -> str:
    """Return a document's kind by its name and folders: decision, lesson, rule, ..., code, data, log or document.

    Frontmatter may say otherwise (``kind``, or a ``type`` that names a kind).
    """
    pure = PurePosixPath(path)
    suffix = pure.suffix.casefold()
    if suffix in CODE_SUFFIXES:
        return "code"
    if suffix in LOG_SUFFIXES:
        return "log"
    if suffix in DATA_SUFFIXES:
        return "data"
    if pure.name.casefold() in _RULE_FILES:
        return "rule"
    named = _NAMED.match(pure.stem.casefold())
    words = [named.group(1) or named.group(2)] if named else []
    words += [part.casefold() for part in reversed(pure.parts[:-1])]
    return next((kind for word in words if (kind := kind_named(word))), "document")
