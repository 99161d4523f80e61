"""Versions side by side, ``x_v1`` and ``x_v2``, where nobody says that the newer replaced the older."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath

from recalld.lint.catalogue import found
from recalld.lint.memory import Memory, is_note
from recalld.model import Finding
from recalld.trust.names import stem_of

_VERSION = re.compile(r"(?i)^(.*?)[-_. ]v0*(\d{1,4})((?:[-_. ].*)?)$")


def siblings(memory: Memory) -> Iterator[Finding]:
    """Yield, on the older, each pair of consecutive versions in a folder of which the older still stands."""
    families: dict[tuple[str, str, str], dict[int, int]] = {}
    for number, reading in memory.prose():
        path = PurePosixPath(reading.document.path)
        if is_note(path.name) and (match := _VERSION.match(stem_of(path.name).casefold())):
            head, version, tail = match.groups()
            families.setdefault((str(path.parent), head, tail), {}).setdefault(int(version), number)
    for family in families.values():
        for older, newer in pairwise(sorted(family)):
            if memory.stands(family[older]):
                yield _unlinked(memory, family[older], family[newer])


def _unlinked(memory: Memory, older: int, newer: int) -> Finding:
    old, new = (memory.readings[id_].document.path for id_ in (older, newer))
    return found(
        "version-sibling-unlinked",
        old,
        f"{new} looks like its next version, but nothing says that it replaced this",
        f"write `supersedes: {stem_of(old)}` in {new}, or `valid_until` here",
    )
