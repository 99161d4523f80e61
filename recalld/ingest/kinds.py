"""What kind of memory a file is, by its name and folders: the layouts found in the wild."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath


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

GUIDING = ("rule", "skill", "lesson")
"""Kinds whose texts say what to check before an act."""
_KIND_WORDS: Mapping[str, str] = {
    word: kind
    for kind, words in {
        "decision": "decision decisions adr adrs rfc rfcs proposal proposals pep peps decisionlog",
        "lesson": "lesson lessons til learnings learning lessons-learned lessons_learned lessonslearned",
        "rule": "rule rules policy policies guideline guidelines conventions clinerules windsurfrules",
        "session-log": "session sessions journal journals handoff handoffs daily sessionlog session-log session-logs",
        "incident": "incident incidents postmortem postmortems outage outages",
        "skill": "skill skills",
        "spec": "spec specs specification specifications",
        "runbook": "runbook runbooks playbook playbooks howto howtos",
        "state": "state activecontext progress project_state project-state current-state status",
        "index": "index memory toc _index",
        "memo": "memo memos memories memory-bank",
    }.items()
    for word in words.split()
}
_NAMES_ONLY = _words("state status progress activecontext project_state project-state current-state index toc _index")
"""Words that say something as a file's name, and nothing as a folder's."""
_FOLDERS: Mapping[str, str] = {"memory": "memo", "instructions": "rule"}
"""What a folder says where a file of the same name says something else."""
_RULE_FILES = frozenset(
    {"agents.md", "claude.md", "gemini.md", "copilot-instructions.md", ".cursorrules", ".windsurfrules", ".clinerules"}
)
_RULE_SUFFIXES = (".mdc", ".instructions.md")
_NAMED = re.compile(r"^(?:([a-z]+)[-_ ]?\d+|([a-z_]+(?:-[a-z]+)?)$)")


def kind_named(word: str) -> str | None:
    """Return the kind that a word stands for (``adr`` and ``decisions`` are ``decision``), None for other words."""
    return _KIND_WORDS.get(word.strip().casefold())


def kind_of(path: str) -> str:
    """Return a document's kind by its name and folders: decision, lesson, rule, state, ..., code, data or document.

    A repo may map its files otherwise (:class:`recalld.ingest.sources.Sources`), and a file's frontmatter says it of
    itself (``kind``, or a ``type`` that names a kind).
    """
    pure = PurePosixPath(path.casefold())
    if pure.suffix in CODE_SUFFIXES:
        return "code"
    if pure.suffix in LOG_SUFFIXES:
        return "log"
    if pure.suffix in DATA_SUFFIXES:
        return "data"
    if pure.name in _RULE_FILES or pure.name.endswith(_RULE_SUFFIXES):
        return "rule"
    named = _NAMED.match(pure.stem)
    own = kind_named(named.group(1) or named.group(2)) if named else None
    folders = (_folder(part) for part in reversed(pure.parts[:-1]))
    return own or next((kind for kind in folders if kind), "document")


def _folder(name: str) -> str | None:
    return _FOLDERS.get(name) or (None if name in _NAMES_ONLY else kind_named(name))
