"""The names of metadata keys, and what the ones with a meaning are called otherwise."""

from __future__ import annotations

import re

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GAPS = re.compile(r"[\s_-]+")

EDGE_KEYS = ("supersedes", "superseded_by")
"""Keys whose values are other documents."""

SYNONYMS = {
    "replaces": "supersedes",
    "obsoletes": "supersedes",
    "superseeds": "supersedes",
    "replaced_by": "superseded_by",
    "obsoleted_by": "superseded_by",
    "valid_to": "valid_until",
    "expires": "valid_until",
    "expires_on": "valid_until",
    "alias": "aliases",
    "tag": "tags",
    "keywords": "tags",
    "estado": "status",
    "state": "status",
}


def folded(key: str) -> str:
    """Return a key as recalld names it: ``Superseded-By``, ``supersededBy`` and ``superseded by`` are one."""
    return _GAPS.sub("_", _CAMEL.sub("_", key.strip()).casefold()).strip("_")[:80]


def meaning(key: str) -> str:
    """Return the key that a folded key means: ``replaces`` is ``supersedes``."""
    return SYNONYMS.get(key, key)
