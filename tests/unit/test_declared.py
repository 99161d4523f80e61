"""What a document declares of its own standing, however its frontmatter spells it."""

from __future__ import annotations

from typing import Any

import pytest

from recalld.trust.declared import declared


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("0003-jobs", ("0003-jobs",)),
        (["0003-jobs", "0004-queues"], ("0003-jobs", "0004-queues")),
        ([["0003-jobs"]], ("0003-jobs",)),
        ([["0003-jobs"], "0004-queues", None, ""], ("0003-jobs", "0004-queues")),
        (7, ("7",)),
        (None, ()),
    ],
)
def test_targets_are_names(written: Any, names: tuple[str, ...]) -> None:
    read = declared({"supersedes": written, "superseded_by": written})
    assert read.supersedes == names
    assert read.superseded_by == (names[0] if names else None)
