"""The block of metadata that a document may begin with: YAML between ``---``, TOML between ``+++``.

No frontmatter is not broken frontmatter: a ``---`` that no block follows is a rule, and the text is all body. A broken
block is read line by line as far as it goes, and each line that no reader understands is a finding.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

from recalld.ingest.outline import Lines
from recalld.ingest.report import Reporter
from recalld.ingest.yaml_values import Fault, Loaded, YamlError, load, scalar

MAX_LINES = 5_000
"""A block that is not closed within so many lines is none."""
MAX_CHARS = 65_536
"""A larger block is only read line by line, and only so far."""
MAX_BLANK_BEFORE = 5
MAX_FAULTS = 8

_MEMBER = re.compile(r"""^(?:["']?[^\s:#"'\[\]{}|>-][^:]{0,80}:(?:\s|$|\[|\{|["'])|\s|#|-\s|-$|[\]}]|\?\s)""")
_KEY = re.compile(r"""^(["']?)([^\s:#"'\[\]{}|>-][^:]{0,80}?)\1\s*:(?=\s|$|\[|\{|["'])\s*(.*)$""")
_TOML_KEY = re.compile(r"""^(["']?)([\w.-]{1,80})\1\s*=\s*(.*)$""")
_PLACEHOLDER = re.compile(r"^(\s*(?:-\s+|[\w .-]{1,80}:\s+))(\{\{[^'\n]*\}\}|<%[^'\n]*%>)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"\s+#.*$")


@dataclass(slots=True)
class Frontmatter:
    """What a block says. Lines are 1-based lines of the document; ``last`` 0 means that there is no block.

    ``broken`` blocks were read as far as they go; what they meant to say may be lost.
    """

    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    first: int = 0
    last: int = 0
    broken: bool = False

    @property
    def body(self) -> int:
        """The line that the body begins on."""
        return self.last + 1


def read(lines: Lines, report: Reporter) -> Frontmatter:
    """Find and read a document's frontmatter. What is wrong with it is reported by file, line and key."""
    opening = _opening(lines)
    if opening is None:
        return Frontmatter()
    fence = lines.all[opening - 1].rstrip()
    closing = _closing(lines, opening, fence)
    if closing is None:
        _report_unclosed(lines, opening, fence, report)
        return Frontmatter()
    inside = lines.all[opening : closing - 1]
    if not _is_block(inside, fence):
        return Frontmatter()
    if opening > 1:
        report.note("frontmatter-late", f"the frontmatter begins on line {opening}", "move it to line 1", line=opening)
    loaded = _loaded(inside, fence)
    _report(loaded.faults, opening, report)
    lines_of = {key: number + opening for key, number in loaded.lines.items()}
    broken = any(fault.code not in _WARNINGS for fault in loaded.faults)
    return Frontmatter(loaded.values, lines_of, opening, closing, broken)


def _opening(lines: Lines) -> int | None:
    for line in range(1, min(len(lines), MAX_BLANK_BEFORE + 1) + 1):
        if not lines.blank(line):
            return line if lines.all[line - 1].rstrip() in ("---", "+++") else None
    return None


def _closing(lines: Lines, opening: int, fence: str) -> int | None:
    ends = ("---", "...") if fence == "---" else ("+++",)
    for line in range(opening + 1, min(len(lines), opening + MAX_LINES) + 1):
        text = lines.all[line - 1]
        if len(text) < 16 and text.rstrip() in ends:
            return line
    return None


def _is_block(inside: Sequence[str], fence: str) -> bool:
    """Tell a block from text that happens to stand between two rules."""
    if not any(line.strip() for line in inside):
        return True
    told = [line for line in inside if line.strip() and not line.startswith("#")]
    key = _KEY if fence == "---" else _TOML_KEY
    if not told or not (key.match(told[0][:200]) or told[0].startswith("[")):
        return False
    if fence == "+++":
        return True
    members = sum(1 for line in told if _MEMBER.match(line[:200]))
    return members * 4 >= len(told) * 3


def _report_unclosed(lines: Lines, opening: int, fence: str, report: Reporter) -> None:
    following = lines.all[opening] if opening < len(lines) else ""
    if (_KEY if fence == "---" else _TOML_KEY).match(following[:200]):
        report.warning(
            "frontmatter-unclosed",
            "this may be frontmatter, but nothing closes it: all of it was read as text",
            f"close it with a line {fence}",
            line=opening,
        )


def _loaded(inside: Sequence[str], fence: str) -> Loaded:
    text = "\n".join(inside)
    if len(text) > MAX_CHARS:
        fault = Fault("frontmatter-too-large", 1, f"the frontmatter has {len(text)} characters")
        loaded = _by_lines(text[:MAX_CHARS].split("\n")[:-1], fence)
        loaded.faults.insert(0, fault)
        return loaded
    if fence == "+++":
        return _toml(text)
    try:
        return load(_PLACEHOLDER.sub(r"\1'\2'", text)) or Loaded()
    except YamlError as error:
        loaded = _by_lines(inside, fence)
        if error.fault.code != "frontmatter-broken":
            loaded.faults = []
        if not any(fault.code == error.fault.code for fault in loaded.faults):
            loaded.faults.insert(0, error.fault)
        return loaded


def _toml(text: str) -> Loaded:
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        loaded = _by_lines(text.split("\n"), "+++")
        loaded.faults = [Fault("frontmatter-broken", int(found.group(1)) if found else 1, str(error))]
        return loaded
    lines: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if (match := _TOML_KEY.match(line)) and match.group(2) in values:
            lines.setdefault(match.group(2), number)
    return Loaded({key: _plain(value) for key, value in values.items()}, lines)


def _plain(value: Any) -> Any:
    """Return a TOML value as JSON has it."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, (datetime, date, time)) else value


def _by_lines(inside: Sequence[str], fence: str) -> Loaded:
    """Read a broken block entry by entry: YAML where an entry is YAML, else as it looks."""
    loaded = Loaded()
    for number, entry in _entries(inside, _KEY if fence == "---" else _TOML_KEY):
        _read_entry(loaded, number, entry, fence)
    return loaded


def _entries(inside: Sequence[str], key: re.Pattern[str]) -> Iterator[tuple[int, list[str]]]:
    begun, entry = 0, list[str]()
    for number, line in enumerate(inside, 1):
        if key.match(line[:200]):
            if entry:
                yield begun, entry
            begun, entry = number, [line]
        elif entry:
            entry.append(line)
    if entry:
        yield begun, entry


def _read_entry(loaded: Loaded, number: int, entry: Sequence[str], fence: str) -> None:
    match = (_KEY if fence == "---" else _TOML_KEY).match(entry[0])
    if match is None:
        return
    key, value = match.group(2).strip(), match.group(3).strip()
    found: Loaded | None = None
    if fence == "---":
        try:
            found = load("\n".join(entry))
        except YamlError as error:
            loaded.faults.append(
                Fault(error.fault.code, number + error.fault.line - 1, f"{key}: {error.fault.message}", key)
            )
    if key in loaded.lines:
        message = f"{key} stands here again after line {loaded.lines[key]}; the last one counts"
        loaded.faults.append(Fault("frontmatter-duplicate-key", number, message, key))
    loaded.values[key] = found.values.get(key) if found and key in found.values else _guessed(value, entry[1:])
    loaded.lines[key] = number


def _guessed(value: str, following: Sequence[str]) -> Any:
    """Return what a value that is no YAML was probably meant to be: a list, or the text as it stands."""
    items = [_unquoted(line.strip()[1:]) for line in following if line.strip().startswith("-")]
    if not value:
        return items or None
    if value.startswith("[") and value.endswith("]") and not value.startswith("[["):
        return [_unquoted(part) for part in value[1:-1].split(",") if part.strip()]
    more = " ".join(line.strip() for line in following if line.strip() and not line.strip().startswith("#"))
    text = _unquoted(_COMMENT.sub("", value))
    return scalar(f"{text} {more}".strip() if more else text)


def _unquoted(text: str) -> str:
    text = text.strip()
    for left, right in (('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ('"', "\u201d"), ("\u2018", "\u2019")):
        if len(text) > 1 and text.startswith(left) and text.endswith(right):
            return text[1:-1].strip()
    return text


_HINTS = {
    "frontmatter-broken": "quote values that contain ': ', '#', '@' or '\"'; indent with spaces",
    "frontmatter-duplicate-key": "keep one of them",
    "frontmatter-tag": "write the value without the tag",
    "frontmatter-key": "quote the value, or remove the braces",
    "frontmatter-too-complex": "write the values out, without aliases or deep nesting",
    "frontmatter-too-large": f"keep it below {MAX_CHARS} characters; move the rest into the text",
}
_WARNINGS = frozenset({"frontmatter-duplicate-key", "frontmatter-key"})


def _report(faults: Sequence[Fault], opening: int, report: Reporter) -> None:
    for fault in faults[:MAX_FAULTS]:
        tell = report.warning if fault.code in _WARNINGS else report.error
        tell(fault.code, fault.message, _HINTS[fault.code], line=opening + fault.line, key=fault.key)
