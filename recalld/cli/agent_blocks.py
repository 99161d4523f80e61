"""Text files of others with a block of ours: a section of markdown between marks, a table of TOML. Pure.

A block goes to the end, after one line end that is taken out with it; a file that begins with it was made for it. So
the text from before comes back byte for byte, also where it does not end with a line end.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from recalld.errors import RefusedError

BEGIN = "<!-- recalld:begin, by `recall agent install`; `recall agent uninstall` takes it out -->"
END = "<!-- recalld:end -->"
_SECTION = re.compile(
    r"^<!-- recalld:begin\b[^\n]*-->(?P<eol>\r?\n).*?^<!-- recalld:end -->(?:\r?\n|\Z)", re.MULTILINE | re.DOTALL
)
_MARKS = re.compile(r"^<!-- recalld:(?:begin\b|end -->)", re.MULTILINE)

SERVERS, NAME = "mcp_servers", "recalld"
NOTE = "# recalld: by `recall agent install`; `recall agent uninstall` takes it out"
_OURS = re.compile(r"""^[ \t]*\[[ \t]*(["']?)mcp_servers\1[ \t]*\.[ \t]*(["']?)recalld\2[ \t]*[.\]]""")
_HEADER = re.compile(r"^[ \t]*\[")
_BY_HAND = "change it by hand; it is left as it is"


def section_in(text: str | None, body: str) -> str:
    """Return markdown with the section, in the place of an earlier one. Raises RefusedError for marks astray."""
    block = f"{BEGIN}\n{body.strip()}\n{END}\n"
    found = _section(text or "")
    if text is None or found is None:
        return _appended(text, block)
    block = block.replace("\n", found["eol"])
    return text if found[0].rstrip() == block.rstrip() else text[: found.start()] + block + text[found.end() :]


def section_out(text: str) -> str | None:
    """Return markdown without the section, None where it was all the file. Raises RefusedError for marks astray."""
    found = _section(text)
    return text if found is None else _cut(text, found.start(), found.end())


def _section(text: str) -> re.Match[str] | None:
    found = _SECTION.search(text)
    if len(_MARKS.findall(text)) != (2 if found else 0):
        raise RefusedError("recalld's marks in it are not one pair", suggestion=_BY_HAND)
    return found


def table_in(text: str | None, entry: dict[str, Any]) -> str:
    """Return TOML with ``mcp_servers.recalld``, in the place of an earlier one; all else stays.

    ``entry`` holds strings and lists of strings. Raises RefusedError for what is no TOML, and where no table can be.
    """
    data = _toml(text or "")
    servers = data.get(SERVERS, {})
    if not isinstance(servers, dict):
        raise RefusedError(f"{SERVERS} is no table", suggestion=_BY_HAND)
    there = servers.get(NAME)
    if text is not None and there is not None:
        kept = there if isinstance(there, dict) else {}
        if kept | entry == there:
            return text
        rest = table_out(text)
        wanted = kept | entry
    else:
        rest, wanted = text, entry
    lines = [f"{key} = {_value(value)}" for key, value in wanted.items()]
    made = _appended(rest, "\n".join([NOTE, f"[{SERVERS}.{NAME}]", *lines, ""]))
    return _proven(made, data | {SERVERS: servers | {NAME: wanted}})


def table_out(text: str) -> str | None:
    """Return TOML without ``mcp_servers.recalld``, None where it was all the file. Raises RefusedError."""
    data = _toml(text)
    servers = data.get(SERVERS)
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    others = {name: entry for name, entry in servers.items() if name != NAME}
    tables = _tables(text)
    for chosen in (tables, [table for table in tables if text.startswith(NOTE, table[0])]):
        left: str | None = text
        for start, end in reversed(chosen):
            left = _cut(left or "", start, end)
        means = _means(left or "")
        if means is not None and (means | {SERVERS: means.get(SERVERS, {})}) == (data | {SERVERS: others}):
            return left
    raise RefusedError(f"{SERVERS}.{NAME} is written in a way that cannot be taken out", suggestion=_BY_HAND)


def _tables(text: str) -> list[tuple[int, int]]:
    """Return what may be our tables, each from our note or its header to its last line that says something.

    It may be the text of a string, too: what is left has to be proven.
    """
    found: list[tuple[int, int]] = []
    at, ours, note = 0, False, 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        end = at + len(line)
        if _OURS.match(line):
            found.append((at - note, end))
            ours = True
        elif _HEADER.match(line):
            ours = False
        elif ours and line.strip() and not line.lstrip().startswith("#"):
            found[-1] = (found[-1][0], end)
        note, at = len(line) if line.startswith("# recalld:") else 0, end
    return found


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RefusedError(f"no TOML: {error}", suggestion="mend the file first; it is left as it is") from None


def _means(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _proven(text: str, wanted: dict[str, Any]) -> str:
    """Return the text, if it means what it should. Raises RefusedError."""
    if _means(text) != wanted:
        raise RefusedError(f"there is no room for a table in its {SERVERS}", suggestion=_BY_HAND)
    return text


def _value(value: Any) -> str:
    """Return a value as TOML on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(each)}" for key, each in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)


def _appended(text: str | None, block: str) -> str:
    if text is None:
        return block
    eol = "\r\n" if "\r\n" in text else "\n"
    return text + eol + block.replace("\n", eol)


def _cut(text: str, start: int, end: int) -> str | None:
    """Take a block out, with the line end before it unless that would join two lines."""
    before, block, after = text[:start], text[start:end], text[end:]
    eol = "\r\n" if "\r\n" in block else "\n"
    shorter = before.removesuffix(eol)
    if not after or not shorter or shorter.endswith("\n"):
        before = shorter
    return before + after if start or after else None
