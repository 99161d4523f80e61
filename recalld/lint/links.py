"""Links to files of the same directory that are not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

from recalld.ingest.parse import Reading
from recalld.lint.catalogue import found
from recalld.lint.memory import Memory
from recalld.model import Finding

_IMPLIED = ("", ".md", ".rst", ".html", "/index.md", "/README.md")
"""What a link to a page may leave out; ``x.html`` may be made of ``x.md``."""
_NOT_A_PATH = re.compile(
    r"""[{}<>$*|"'\\]|\.\.\.|\u2026|^www\.|^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai)(?:[/:?#]|$)|@"""
)


def broken(memory: Memory) -> Iterator[Finding]:
    """Yield the links that lead to nothing, neither in the memory nor left out of it; anchors are not followed."""
    known = {reading.document.path for reading in memory.readings}
    for _, reading in memory.prose():
        for edge in reading.document.edges:
            if edge.kind == "link" and not leads_somewhere(memory, known, reading, edge.target):
                message = f"the link to {edge.target[:200]!r} leads to no file"
                yield found("broken-link", reading.document.path, message, line=edge.line)


def leads_somewhere(memory: Memory, known: set[str], reading: Reading, target: str) -> bool:
    """Tell whether there is a file or document that a link means, or none can be expected (outside, a template)."""
    path = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
    if not path or _NOT_A_PATH.search(path):
        return True
    folder = str(PurePosixPath(reading.document.path).parent)
    relative = normpath(path.lstrip("/") if path.startswith("/") else f"{folder}/{path}")
    if relative.startswith("..") or any(relative + end in known for end in _IMPLIED):
        return True
    if path.endswith(".html") and f"{relative.removesuffix('.html')}.md" in known:
        return True
    named = memory.graph.named(path, "", "" if folder == "." else folder) if "/" not in path else ()
    return bool(named) or any(map(memory.exists, dict.fromkeys((relative, normpath(path.lstrip("/"))))))
