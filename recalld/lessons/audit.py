"""How procedural memory fares: what is never used, no longer holds or stands twice, and what loading it costs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.lessons.likeness import Said, same_pairs
from recalld.store.usage import Use

DAY_S = 86_400.0
CHECK_TOKENS = 20
"""What a shown line is taken to cost where no line of the memory tells (tokens)."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A rule, skill or lesson. ``verdict`` and ``reason`` say why it no longer holds, both empty where it does.

    ``tokens`` is what the whole file costs, ``check_tokens`` its check line (0 where it has none).
    """

    path: str
    kind: str
    tokens: int
    check_tokens: int
    content_hash: str
    said: Said
    proposed: bool = False
    verdict: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found: paths, and the stale files themselves. ``days`` are those since something was first shown.

    ``saving`` is the share of the tokens that are not read where checks are shown instead of all being loaded, for one
    session a day; None while nothing was shown.
    """

    files: dict[str, int]
    never_used: tuple[str, ...]
    stale: tuple[Loaded, ...]
    duplicates: tuple[tuple[str, ...], ...]
    proposed: tuple[str, ...]
    loaded_tokens: int
    surfaced_tokens: int
    surfacings: int
    days: float
    saving: float | None

    @property
    def findings(self) -> int:
        """How many things somebody should look at."""
        return len(self.stale) + len(self.duplicates) + len(self.proposed)


def audit(files: Sequence[Loaded], uses: Mapping[str, Use], now: datetime) -> Audit:
    """Look at a repo's procedural memory; ``uses`` are by guardrail: a path, or a path with ``#section``."""
    used = {path for guardrail, use in uses.items() if use.used for path in (guardrail, guardrail.rpartition("#")[0])}
    loaded = sum(each.tokens for each in files)
    surfacings = sum(use.surfaced for use in uses.values())
    surfaced = _surfaced(files, uses)
    first = min((use.first_at for use in uses.values() if use.surfaced and use.first_at), default=None)
    days = max((now - first).total_seconds() / DAY_S, 1.0) if first else 0.0
    kinds = sorted({each.kind for each in files})
    return Audit(
        files={kind: sum(each.kind == kind for each in files) for kind in kinds},
        never_used=tuple(each.path for each in files if each.path not in used and not each.proposed),
        stale=tuple(each for each in files if each.verdict),
        duplicates=tuple(_duplicates(files)),
        proposed=tuple(each.path for each in files if each.proposed),
        loaded_tokens=loaded,
        surfaced_tokens=surfaced,
        surfacings=surfacings,
        days=days,
        saving=max(0.0, 1 - surfaced / days / loaded) if days and loaded else None,
    )


def _surfaced(files: Sequence[Loaded], uses: Mapping[str, Use]) -> int:
    """Return what was shown, in tokens; a guardrail without a known check costs what the others do on average."""
    known = {each.path: each.check_tokens for each in files if each.check_tokens}
    usual = sum(known.values()) / len(known) if known else CHECK_TOKENS
    return round(sum(use.surfaced * known.get(guardrail, usual) for guardrail, use in uses.items()))


def _duplicates(files: Sequence[Loaded]) -> list[tuple[str, ...]]:
    """Return groups of files with the same bytes, and of lessons that say the same."""
    found: list[set[str]] = []
    by_hash: dict[str, set[str]] = {}
    for each in files:
        by_hash.setdefault(each.content_hash, set()).add(each.path)
    found += [paths for paths in by_hash.values() if len(paths) > 1]
    lessons = [each for each in files if each.kind == "lesson"]
    for one, other in sorted(same_pairs([each.said for each in lessons])):
        pair = {lessons[one].path, lessons[other].path}
        home = next((group for group in found if group & pair), None)
        if home is None:
            found.append(pair)
        else:
            home |= pair
    return sorted(tuple(sorted(group)) for group in found)
