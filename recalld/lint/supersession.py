"""Claims about who replaced whom: those that mean nothing, those that contradict each other, those of one side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TypeVar

from recalld.lint.catalogue import found
from recalld.lint.memory import Memory, line_of
from recalld.model import Finding
from recalld.trust.graph import PROSE, SUPERSEDES, Ambiguous, Dangling, Link, Member
from recalld.trust.names import fold, read_target, stem_of
from recalld.trust.standing import Status

_RECORD = "record"
_OVER = (Status.SUPERSEDED, Status.RETIRED)
_SHOWN = 4


def unresolved(memory: Memory) -> Iterator[Finding]:
    """Yield the claims whose target is nothing, several documents, or the document itself."""
    graph = memory.graph
    for self_claim in _once(graph.self_claims):
        message = f"{_written(self_claim)} is this very document"
        yield _at(memory, self_claim, "self-supersedes", message, "name the document that it replaced")
    stems = sorted({stem_of(member.path) for member in graph.members.values()})
    for dangling in _once(graph.dangling):
        if "://" not in dangling.claim.target:
            message = f"{_written(dangling)}: no document here is called that"
            yield _at(memory, dangling, "dangling-supersedes", message, _meant(dangling.claim.target, stems))
    for ambiguous in _once(graph.ambiguous):
        paths = [graph.members[id_].path for id_ in ambiguous.matches]
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        message = f"{_written(ambiguous)} may be {' or '.join(paths[:_SHOWN])}{more}: all of them are hidden"
        yield _at(memory, ambiguous, "ambiguous-supersedes", message, f"write the path, as {paths[0]}")


def circles(memory: Memory) -> Iterator[Finding]:
    """Yield each circle once, on its least member, naming all."""
    for circle in memory.graph.circles(memory.now):
        members = [memory.graph.members[id_] for id_ in circle]
        least = members.index(min(members, key=lambda member: member.path))
        round_ = [member.path for member in (*members[least:], *members[:least], members[least])]
        line = next((claim.line for claim in members[least].claims if claim.source != PROSE), None)
        message = f"these replace each other in a circle: {' -> '.join(round_)}"
        yield found("supersession-cycle", round_[0], message, "remove the claim that is wrong", line=line)


def one_sided(memory: Memory) -> Iterator[Finding]:
    """Yield the file that should say, too, what the other one says. Who says it without effect is another rule's."""
    members = memory.graph.members
    for old, links in memory.graph.links.items():
        sides: dict[int, set[bool]] = {}
        for link in links:
            if link.new is not None and _has_effect(members[link.by], link):
                sides.setdefault(link.new, set()).add(link.own)
        for new, said in sides.items():
            if said == {True}:
                yield _newer_silent(memory, members[old], members[new])
            elif said == {False} and members[old].standing.status not in (*_OVER, Status.ADOPTED):
                yield _older_silent(memory, members[old], members[new])


def status_accepted(memory: Memory) -> Iterator[Finding]:
    """Yield the documents that were replaced while their status says that they hold."""
    for member in memory.graph.members.values():
        if member.standing.status is not Status.ADOPTED:
            continue
        succession = memory.graph.succession(member.id, memory.now, None)
        if succession is None or succession.direct.claim.source == _RECORD:
            continue
        link = succession.direct
        new = memory.graph.members[link.new].path if link.new is not None else link.name
        who = "it also says" if link.own else f"{memory.graph.members[link.by].path} says"
        yield found(
            "superseded-status-accepted",
            member.path,
            f"its status says {member.standing.written!r}, but {who} that {new} replaced it",
            f"write `status: superseded` and `superseded_by: {stem_of(new)}`",
            line=line_of(memory.readings[member.id], "status"),
        )


def without_effect(memory: Memory) -> Iterator[Finding]:
    """Yield the claims that hide nothing: of documents that were never in force, and on parts of a document."""
    graph = memory.graph
    partial = {(link.by, link.claim) for link in graph.partial}
    for member in graph.members.values():
        if member.standing.status is not Status.UNADOPTED:
            continue
        for claim in member.claims:
            if claim.kind == SUPERSEDES and claim.source not in (PROSE, _RECORD) and (member.id, claim) not in partial:
                yield found(
                    "unadopted-supersedes",
                    member.path,
                    f"it says that it replaced {claim.target!r}, but its status is {member.standing.written!r}: "
                    "that has no effect",
                    "accept it, or leave the claim out until then",
                    line=claim.line,
                    key=claim.key or None,
                )
    for link in graph.partial:
        if link.claim.source != PROSE:
            message = f"{_written(link)} is about a part of {graph.members[link.old].path}: that stays in force"
            yield _at(memory, link, "partial-supersession", message, "if the whole is meant, name it without the part")


def _has_effect(by: Member, link: Link) -> bool:
    if link.claim.source in (PROSE, _RECORD):
        return False
    return link.own or (by.standing.status is not Status.UNADOPTED and not by.standing.problem)


def _newer_silent(memory: Memory, old: Member, new: Member) -> Finding:
    return found(
        "one-sided-supersession",
        new.path,
        f"{old.path} says that this replaced it; this does not say so",
        f"write `supersedes: {stem_of(old.path)}` here",
        line=line_of(memory.readings[new.id], "status"),
    )


def _older_silent(memory: Memory, old: Member, new: Member) -> Finding:
    return found(
        "one-sided-supersession",
        old.path,
        f"{new.path} says that it replaced this; this does not say so",
        f"write `status: superseded` and `superseded_by: {stem_of(new.path)}` here",
        line=line_of(memory.readings[old.id], "status"),
    )


_Told = Dangling | Ambiguous | Link
T = TypeVar("T", Dangling, Ambiguous)


def _once(claims: Iterable[T]) -> Iterator[T]:
    """Yield each claim once, however often its document makes it; what prose says is another rule's."""
    seen: set[tuple[int, str]] = set()
    for told in claims:
        about = told.by, fold(read_target(told.claim.target).name)
        if told.claim.source != PROSE and about not in seen:
            seen.add(about)
            yield told


def _written(told: _Told) -> str:
    return f"{told.claim.key or told.claim.kind} {told.claim.target!r}"


def _at(memory: Memory, told: _Told, code: str, message: str, hint: str) -> Finding:
    claim = told.claim
    return found(code, memory.graph.members[told.by].path, message, hint, line=claim.line, key=claim.key or None)


def _meant(target: str, stems: list[str]) -> str:
    near = get_close_matches(stem_of(read_target(target).name), stems, n=3)
    return f"did you mean {' or '.join(near)}?" if near else "correct the name, or remove the claim"
