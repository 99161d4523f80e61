"""Results of jobs as a person reads them: no braces, no zeros, no lists in full."""

from __future__ import annotations

from typing import Any

import pytest

from recalld.bus.job_words import NOTHING, in_words

CASES: list[tuple[dict[str, Any], str]] = [
    ({}, NOTHING),
    ({"tombstones": 0, "receipts": 1, "runs": 1_200, "embeddings": 0}, "1 receipt, 1,200 runs"),
    (
        {"error": 1, "warning": 2, "info": 0, "documents": 30, "repos": {"notes": {"error": 1, "warning": 2}}},
        "1 error, 2 warnings, 30 documents, notes (1 error, 2 warnings)",
    ),
    ({"repos": {"notes": {"error": "no node\nwatches it"}}, "faults": {}, "sound": True},
     "notes (no node watches it), sound"),
    ({"repos": {"notes": {"added": 0}}, "faults": {"chunks-missing": 3}, "sound": False},
     "3 chunks-missing, not sound"),
    ({"step": "kept", "reason": "nothing moved", "class_error": 0.0412}, "kept, nothing moved, class error 0.04"),
    ({"junk": 2, "excess": 1, "ended": 0, "duplicates": [{"keep": 1, "questions": ["a", "b"]}]},
     "2 junk, 1 excess, 1 duplicate"),
    ({"audit": {"repos": []}, "prune": {"error": "read-only"}, "consolidate": {"groups": [1, 2]}},
     "prune (read-only), consolidate (2 groups)"),
    ({"index": None, "words": ""}, NOTHING),
]  # fmt: skip


@pytest.mark.parametrize(("result", "told"), CASES)
def test_a_result_is_a_line_of_words(result: dict[str, Any], told: str) -> None:
    assert in_words(result) == told
