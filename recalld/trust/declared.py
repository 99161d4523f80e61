"""What a document declares of its own validity, as written: shown beside the verdict, which others may contradict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Declared:
    """What a document says of its own standing, as written (dates unparsed, targets unresolved)."""

    valid_from: str | None
    valid_until: str | None
    superseded_by: str | None
    supersedes: tuple[str, ...]
    status: str | None = None


def declared(metadata: Mapping[str, Any]) -> Declared:
    """Read the validity keys of a document's frontmatter."""
    replaced_by = _texts(metadata.get("superseded_by"))
    return Declared(
        valid_from=_text(metadata.get("valid_from")),
        valid_until=_text(metadata.get("valid_until")),
        superseded_by=replaced_by[0] if replaced_by else None,
        supersedes=_texts(metadata.get("supersedes")),
        status=_text(metadata.get("status")),
    )


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)


def _texts(value: Any) -> tuple[str, ...]:
    """Return the names in a value. YAML reads the wiki link ``[[0003-jobs]]`` as a list in a list."""
    if isinstance(value, list | tuple):
        return tuple(text for item in value for text in _texts(item))
    text = _text(value)
    return () if text is None else (text,)
