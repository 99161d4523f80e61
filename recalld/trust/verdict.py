"""The verdict on a hit.

Nothing is calibrated yet, so nothing is judged: every hit is ``unverified`` and says so. What the document
itself declares about its validity is passed on as written, for the caller to weigh.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class Declared:
    """What a document says of its own standing, as written (dates unparsed, targets unresolved)."""

    valid_from: str | None
    valid_until: str | None
    superseded_by: str | None
    supersedes: tuple[str, ...]


def declared(metadata: Mapping[str, Any]) -> Declared:
    """Read the validity keys of a document's frontmatter."""
    replaced_by = _texts(metadata.get("superseded_by"))
    return Declared(
        valid_from=_text(metadata.get("valid_from")),
        valid_until=_text(metadata.get("valid_until")),
        superseded_by=replaced_by[0] if replaced_by else None,
        supersedes=_texts(metadata.get("supersedes")),
    )


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _texts(value: Any) -> tuple[str, ...]:
    """Return the names in a value. YAML reads the wiki link ``[[0003-jobs]]`` as a list in a list."""
    if isinstance(value, list | tuple):
        return tuple(text for item in value for text in _texts(item))
    text = _text(value)
    return () if text is None else (text,)
