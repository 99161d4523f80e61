"""What must be equal before one question's answer may be another's. Exact, and never a part of the text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime

from recalld.model import Filters, Mode


def key_of(
    generation_id: int,
    repo_ids: Sequence[int],
    filters: Filters,
    mode: Mode,
    as_of: datetime | None,
    known_as_of: datetime | None,
    answerer: str,
    budget: int,
) -> str:
    """Return the key of a question's circumstances: the index, the repos that the caller sees, what narrows the search,
    the two clocks, who writes the answers, and from how much evidence (tokens)."""
    facts = {
        "generation": generation_id,
        "repos": sorted(repo_ids),
        "kinds": sorted(filters.kinds),
        "tags": sorted(filters.tags),
        "path": filters.path,
        "since": _iso(filters.since),
        "until": _iso(filters.until),
        "mode": str(mode),
        "as_of": _iso(as_of),
        "known_as_of": _iso(known_as_of),
        "answerer": answerer,
        "budget": budget,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _iso(moment: datetime | None) -> str | None:
    """Return a moment as text, the same in whichever zone it was given."""
    if moment is None:
        return None
    return (moment.astimezone(UTC) if moment.tzinfo is not None else moment).isoformat()
