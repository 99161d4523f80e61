"""Writing a claim into a person's memo: only where reading it back says that, and nothing else, has changed."""

from __future__ import annotations

import codecs

import yaml

from recalld.errors import RefusedError
from recalld.ingest.parse import Reading, read
from recalld.trust.graph import SUPERSEDES

_INSTEAD = "leave --write out: then the daemon records it in a file of its own"
_MARKDOWN = (".md", ".markdown", ".mdx")


def with_claim(path: str, content: bytes, old: str) -> bytes:
    """Return a memo's content with ``supersedes: old`` in its frontmatter.

    Raises RefusedError where the memo says already what it replaces, or where that cannot be said in this file so that
    it reads back as meant: it is no markdown, no UTF-8, or its frontmatter is not plain YAML between ``---``.
    """
    if not path.lower().endswith(_MARKDOWN):
        raise RefusedError(f"{path} is no markdown: it has no place for frontmatter", suggestion=_INSTEAD)
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    try:
        text = content[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(f"{path} is not UTF-8", suggestion=f"save it as UTF-8, or {_INSTEAD}") from None
    before = read(path, content)
    if any(edge.kind == SUPERSEDES and edge.source == "key" for edge in before.document.edges):
        raise RefusedError(f"{path} says already what it replaces", suggestion=f"add {old} to that list by hand")
    if not before.front.last and text.lstrip().startswith(("---", "+++")):
        raise RefusedError(f"{path} begins like frontmatter, but is none that we can read", suggestion=_INSTEAD)
    after = mark + _inserted(text, before, old).encode("utf-8")
    if not _says_only_that(before, read(path, after), old):
        raise RefusedError(f"the frontmatter of {path} cannot be added to safely", suggestion=_INSTEAD)
    return after


def _inserted(text: str, before: Reading, old: str) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    claim = yaml.safe_dump({"supersedes": old}, allow_unicode=True, width=1_000_000).strip()
    if not before.front.last:
        return f"---{end}{claim}{end}---{end}{text}"
    lines = text.split(end)
    lines.insert(before.front.last - 1, claim)
    return end.join(lines)


def _says_only_that(before: Reading, after: Reading, old: str) -> bool:
    """Tell whether a memo reads as before, but for one claim more, with the same body under sound frontmatter."""
    claims = [edge for edge in after.document.edges if edge.kind == SUPERSEDES and edge.source == "key"]
    kept = {key: value for key, value in before.front.values.items() if after.front.values.get(key) == value}
    added = after.front.values.keys() - before.front.values.keys()
    return (
        [edge.target for edge in claims] == [old]
        and not after.front.broken
        and kept == before.front.values
        and len(added) == 1
        and after.lines.text.endswith(before.lines.text.split("\n", before.front.last)[-1])
        and after.front.last - before.front.last == (1 if before.front.last else 3)
    )
