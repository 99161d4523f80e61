"""From a walk and the index's beliefs to what there is to do. Reads nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from anyio.lowlevel import checkpoint

from recalld.model import FileStat, ManifestEntry
from recalld.watch.apply import Work
from recalld.watch.compare import Action, Presence, compare, is_document
from recalld.watch.disk import Problem, too_large
from recalld.watch.hints import is_below
from recalld.watch.scan import Walk

SLICE = 1_000
"""Paths compared in one turn of the event loop."""
HashOf = Callable[[str, FileStat], str | None]


@dataclass(slots=True)
class Plan:
    """``works`` are files to be looked at more closely, ``drops`` documents that are gone; ``documents`` is how many
    the index holds, and ``problems`` what the walk could not take in."""

    works: list[Work] = field(default_factory=list)
    drops: list[Work] = field(default_factory=list)
    documents: int = 0
    problems: dict[str, Problem] = field(default_factory=dict)


async def make_plan(
    walk: Walk, believed: Mapping[str, ManifestEntry], hash_of: HashOf, *, max_bytes: int, force: bool
) -> Plan:
    """Compare every file that was seen and every document that is believed in; the event loop gets its turns."""
    plan = Plan(problems={problem.path: problem for problem in walk.problems})
    for number, path in enumerate(walk.files):
        if number % SLICE == 0:
            await checkpoint()
        _plan_file(plan, walk, path, believed.get(path), hash_of, max_bytes, force)
    for number, (path, entry) in enumerate(believed.items()):
        if number % SLICE == 0:
            await checkpoint()
        if is_document(entry):
            plan.documents += 1
            if _is_gone(walk, path):
                plan.drops.append(Work(path, entry, listed=True))
    return plan


def _plan_file(
    plan: Plan, walk: Walk, path: str, known: ManifestEntry | None, hash_of: HashOf, max_bytes: int, force: bool
) -> None:
    disk = walk.disk(path, max_bytes)
    if disk.skip and disk.stat:
        plan.problems[path] = too_large(path, disk.stat.size, max_bytes)
    action = compare(disk, known, force=force)
    if action is Action.NOTHING:
        return
    if action is Action.READ and not force and known is not None and is_document(known):
        remembered = hash_of(path, walk.files[path])
        if remembered is not None and remembered == known.content_hash:
            return
    plan.works.append(Work(path, known, force=force))


def _is_gone(walk: Walk, path: str) -> bool:
    if path in walk.files or (walk.under and path != walk.under and not is_below(path, (walk.under,))):
        return False
    return walk.disk(path, 0).presence is Presence.ABSENT
