"""What files of ours are written with: texts without hidden characters, frontmatter that reads back as meant. Pure."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import yaml

from recalld.ingest.yaml_values import YamlError, load

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)?")
_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_PLAIN_KEY = re.compile(r"[a-z_]+")


def entry(key: str, value: Any) -> str:
    """Return one line of frontmatter that reads back as meant, whatever the value holds."""
    assert _PLAIN_KEY.fullmatch(key)
    if isinstance(value, list):
        return f"{key}: [{', '.join(_quoted(item) for item in value)}]"
    if isinstance(value, bool | int):
        return f"{key}: {json.dumps(value)}"
    plain = yaml.safe_dump({key: value}, allow_unicode=True, width=1_000_000_000).rstrip("\n")
    return plain if _reads_as(plain, key, value) else f"{key}: {_quoted(value)}"


def one_line(text: str) -> str:
    """Return a text on one line, without terminal escapes, control characters and marks that turn text around."""
    return " ".join(_UNSEEN.sub("", _visible(text)).split())


def prose(text: str) -> str:
    """Return a text with LF line ends and no characters that nobody sees, blank lines around it left out."""
    lines = (_UNSEEN.sub("", line) for line in _visible(text).split("\n"))
    kept = "\n".join(line if line.strip() else "" for line in lines)
    return kept.strip("\n").rstrip()


def stamp(at: datetime) -> str:
    """Return a moment as lesson files have it: UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_of(value: Any) -> datetime | None:
    """Read a moment, UTC where it names no zone; None for what is none."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _reads_as(line: str, key: str, value: str) -> bool:
    if "\n" in line:
        return False
    try:
        loaded = load(line)
    except YamlError:
        return False
    return loaded is not None and loaded.values == {key: value} and not loaded.faults


def _quoted(value: str) -> str:
    """Return a string as JSON has it, which YAML reads the same."""
    quoted = json.dumps(value, ensure_ascii=False)
    return quoted if _reads_as(f"key: {quoted}", "key", value) else json.dumps(value)


def _visible(text: str) -> str:
    return _BREAKS.sub("\n", _ESCAPES.sub("", text))
