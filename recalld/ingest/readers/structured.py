"""JSON, YAML and TOML: an outline of their upper keys, read from the lines as they stand.

The lines are what is indexed, so a file that does not parse is indexed as well, and reported.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator

import yaml

from recalld.ingest.outline import Block, BlockKind, Lines, Outline, Section, plain_outline
from recalld.ingest.report import Reporter

MAX_CHECKED_CHARS = 2_000_000
"""Longer files are indexed without being checked."""
MAX_KEY_CHARS = 120
LEVELS = 2
"""Keys inside keys are headings so deep."""

_YAML_KEY = re.compile(r"""(["']?)([^\s#"'\[\]{}&*!|>%@-][^:#]*?|[^"':]+)\1\s*:(?:\s|$)""")
_JSON_KEY = re.compile(r'"((?:[^"\\]|\\.){1,200})"\s*:')
_TOML_TABLE = re.compile(r"\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Keys = Iterator[tuple[int, tuple[str, ...]]]
"""Lines on which a key of the two upper levels begins, with its path."""


def read_json(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return the outline of a JSON file; one without line breaks has none."""
    _check(lines, report, "json", _json_fault)
    return _outline(lines, first, _nested(lines, first, _JSON_KEY))


def read_json_lines(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return a file of one JSON value a line as its records."""
    return plain_outline([Block(first, len(lines), BlockKind.RECORDS)] if len(lines) >= first else [])


def read_yaml(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return the outline of a YAML file."""
    _check(lines, report, "yaml", _yaml_fault)
    return _outline(lines, first, _nested(lines, first, _YAML_KEY))


def read_toml(lines: Lines, first: int, report: Reporter) -> Outline:
    """Return the tables of a TOML file."""
    _check(lines, report, "toml", _toml_fault)
    return _outline(lines, first, _tables(lines, first))


def _outline(lines: Lines, first: int, keys: Keys) -> Outline:
    """Return a section from each key to the line before the next one."""
    marks: list[tuple[int, tuple[str, ...]]] = [(first, ())]
    for line, path in keys:
        if marks[-1][0] == line:
            marks.pop()
        marks.append((line, path))
    sections = []
    for (begin, path), (behind, _) in zip(marks, [*marks[1:], (len(lines) + 1, ())], strict=True):
        trimmed = lines.trimmed(begin, min(behind, len(lines) + 1) - 1)
        if trimmed is not None:
            sections.append(Section(path, [Block(*trimmed, BlockKind.CODE)]))
    return Outline(sections)


def _nested(lines: Lines, first: int, key: re.Pattern[str]) -> Keys:
    """Yield the keys of the two upper levels, by their indentation; items of lists have no name."""
    open_: list[tuple[int, str]] = []
    for line in range(first, len(lines) + 1):
        text = lines.all[line - 1][: MAX_KEY_CHARS * 2]
        bare = text.lstrip(" ")
        item = bare.startswith("- ")
        match = None if item else key.match(bare)
        if match is None and not item:
            continue
        indent = len(text) - len(bare)
        while open_ and open_[-1][0] >= indent:
            open_.pop()
        if len(open_) < LEVELS:
            open_.append((indent, match.group(match.lastindex or 1)[:MAX_KEY_CHARS].strip() if match else ""))
            if match:
                yield line, tuple(name for _, name in open_ if name)


def _tables(lines: Lines, first: int) -> Keys:
    for line in range(first, len(lines) + 1):
        match = _TOML_TABLE.match(lines.all[line - 1][: MAX_KEY_CHARS * 2])
        if match is not None:
            yield line, (match.group(1)[:MAX_KEY_CHARS],)


Check = Callable[[str], tuple[str, int] | None]
"""Returns what is wrong with a text and on which line, None when nothing is."""


def _check(lines: Lines, report: Reporter, language: str, check: Check) -> None:
    if not lines.text.strip() or len(lines.text) > MAX_CHECKED_CHARS:
        return
    fault = check(lines.text)
    if fault is not None:
        message, line = fault
        report.warning(f"{language}-broken", message[:300], f"check the file's {language.upper()} syntax", line=line)


def _json_fault(text: str) -> tuple[str, int] | None:
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        return error.msg, error.lineno
    except RecursionError:
        return "values nest too deeply to be checked", 1
    return None


def _yaml_fault(text: str) -> tuple[str, int] | None:
    try:
        for _ in yaml.parse(text, Loader=_LOADER):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return error.problem or "this is no YAML", mark.line + 1 if mark else 1
    except yaml.YAMLError as error:
        return str(error).splitlines()[0], 1
    return None


def _toml_fault(text: str) -> tuple[str, int] | None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        return str(error), int(found.group(1)) if found else 1
    except RecursionError:
        return "values nest too deeply to be checked", 1
    return None
