"""The supersession graph: who replaced whom, by whose word, and since when that is known.

Pure: built from documents and their claims, asked at two clocks. The rules:

- A claim of the older document about itself (``superseded_by``) acts always: its author retired it. A claim of the
  newer document (``supersedes``), or of a record about two others, acts only where the newer one was in force at some
  time: a proposed, rejected or withdrawn document, or one whose window cannot be read, replaces nothing.
- A successor that expired, was deprecated or superseded itself still replaced the old one: nothing comes back to life.
- A claim acts from the successor's ``valid_from`` on; before that the old document holds.
- A claim on a part of a document ("rule 1 only") never hides the whole. What is said in prose only warns.
- A target that several documents match hides all of them, and is named as ambiguous. One that none matches hides
  nothing, except the document that itself says it was replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath

from recalld.trust.names import Target, is_partial, keys_of, means, read_target
from recalld.trust.standing import Standing, Status

SUPERSEDES, SUPERSEDED_BY = "supersedes", "superseded_by"
CLAIMS = frozenset({SUPERSEDES, SUPERSEDED_BY})
"""Kinds of edges that are claims about who replaced whom."""
PROSE = "prose"
"""Source of a claim that was read from running text: it is reported, and never acts."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement on who replaced whom. ``subject`` names the document that it is about, where not the one it is in.

    ``asserted_at`` is when the index first saw it.
    """

    kind: str
    target: str
    source: str = "key"
    key: str = ""
    line: int | None = None
    subject: str = ""
    asserted_at: datetime | None = None


@dataclass(frozen=True)
class Member:
    """A document as the graph sees it."""

    id: int
    repo: str
    path: str
    title: str = ""
    ids: frozenset[str] = frozenset()
    standing: Standing = field(default_factory=Standing)
    claims: tuple[Claim, ...] = ()
    known_since: datetime | None = None

    @cached_property
    def keys(self) -> frozenset[str]:
        """Return every key under which the document can be found."""
        return keys_of(self)

    @property
    def folder(self) -> str:
        """Return the folder that the document is in, empty for the root."""
        parent = str(PurePosixPath(self.path).parent)
        return "" if parent == "." else parent


@dataclass(frozen=True, slots=True)
class Link:
    """A claim resolved: ``by`` says that ``new`` replaced ``old``; ``new`` is None where nothing has that name."""

    by: int
    claim: Claim
    old: int
    new: int | None
    name: str

    @property
    def own(self) -> bool:
        """Tell whether the old document says so itself."""
        return self.by == self.old


@dataclass(frozen=True, slots=True)
class Dangling:
    """A claim whose target no document matches."""

    by: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A claim whose target several documents match, or a part of one alone where ``partial``."""

    by: int
    claim: Claim
    matches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Succession:
    """What became of a document at a moment: its direct successor, the last one, and how sure that is."""

    direct: Link
    terminal: int | None
    others: tuple[int, ...]
    """Further documents that also replaced it."""
    agreed: bool
    """Both sides say so."""
    circular: bool


class Graph:
    """Documents with their claims resolved against each other. Names are matched within a repo."""

    def __init__(self, members: Iterable[Member]) -> None:
        self.members: Mapping[int, Member] = {member.id: member for member in members}
        self._by_key: dict[tuple[str, str], list[Member]] = {}
        for member in self.members.values():
            for key in member.keys:
                self._by_key.setdefault((member.repo, key), []).append(member)
        self.links: dict[int, list[Link]] = {}
        self.partial: list[Link] = []
        self.dangling: list[Dangling] = []
        self.ambiguous: list[Ambiguous] = []
        self.self_claims: list[Dangling] = []
        self._unresolved: dict[int, list[Ambiguous]] = {}
        for member in self.members.values():
            for claim in member.claims:
                self._resolve(member, claim)

    def named(self, target: str | Target, repo: str, folder: str = "") -> list[Member]:
        """Return the documents that a target means: those that match it best, by path."""
        wanted = read_target(target) if isinstance(target, str) else target
        found = {m.id: m for key in wanted.keys for m in self._by_key.get((repo, key), ())}
        strength = {id_: means(wanted, member, folder) for id_, member in found.items()}
        best = max(strength.values(), default=0)
        return sorted((m for id_, m in found.items() if best and strength[id_] == best), key=lambda m: m.path)

    def _resolve(self, member: Member, claim: Claim) -> None:
        target = read_target(claim.target)
        matches = self.named(target, member.repo, member.folder)
        others = [match for match in matches if match.id != member.id]
        if claim.kind not in CLAIMS:
            return
        if matches and not others and not claim.subject:
            self.self_claims.append(Dangling(member.id, claim))
        elif claim.subject:
            subjects = self.named(claim.subject, member.repo, member.folder)
            if len(subjects) == 1:
                self._add(member, claim, target, subjects[0], others)
            else:
                self._unclear(member, claim, subjects)
        else:
            self._add(member, claim, target, member, others)

    def _add(self, by: Member, claim: Claim, target: Target, about: Member, matches: Sequence[Member]) -> None:
        """Note that ``about`` stands in the claim's relation to what its target matched."""
        own = claim.kind == SUPERSEDED_BY
        if len(matches) > 1:
            self._unclear(by, claim, matches, hidden=[about] if own else matches)
        elif not matches and not own:
            self.dangling.append(Dangling(by.id, claim))
        else:
            old, new = (about, matches[0] if matches else None) if own else (matches[0], about)
            link = Link(by.id, claim, old.id, new.id if new else None, target.name)
            if not matches:
                self.dangling.append(Dangling(by.id, claim))
            if is_partial(target, new or old if own else old):
                self.partial.append(link)
            else:
                self.links.setdefault(old.id, []).append(link)

    def _unclear(
        self, by: Member, claim: Claim, matches: Sequence[Member], hidden: Sequence[Member] | None = None
    ) -> None:
        if not matches:
            self.dangling.append(Dangling(by.id, claim))
            return
        found = Ambiguous(by.id, claim, tuple(match.id for match in matches))
        self.ambiguous.append(found)
        for member in matches if hidden is None else hidden:
            self._unresolved.setdefault(member.id, []).append(found)

    def unresolved(self, id_: int, as_of: datetime, known_as_of: datetime | None) -> Ambiguous | None:
        """Return the claim that may or may not retire a document; None where there is none that acts."""
        return next((one for one in self._unresolved.get(id_, ()) if self._said(one.by, one.claim, known_as_of)), None)

    def succession(self, id_: int, as_of: datetime, known_as_of: datetime | None) -> Succession | None:
        """Tell what became of a document; None where nothing replaced it. Both clocks are those of the question.

        ``terminal`` is the last of the chain of successors; None where the chain is ``circular`` or ends in a name
        that no document has.
        """
        acting = self._acting(id_, as_of, known_as_of)
        if not acting:
            return None
        direct = acting[0]
        others = dict.fromkeys(link.new for link in acting if link.new not in (None, direct.new))
        agreed = len({link.own for link in acting if link.new == direct.new}) > 1
        terminal, circular = self._terminal(id_, direct, as_of, known_as_of)
        return Succession(direct, terminal, tuple(new for new in others if new is not None), agreed, circular)

    def _terminal(
        self, start: int, link: Link, as_of: datetime, known_as_of: datetime | None
    ) -> tuple[int | None, bool]:
        seen = {start}
        at = link.new
        while at is not None and at not in seen:
            seen.add(at)
            further = self._acting(at, as_of, known_as_of)
            if not further:
                return at, False
            at = further[0].new
        return None, at is not None

    def awaits_successor(self, id_: int, as_of: datetime) -> bool:
        """Tell whether a document is replaced by one that is valid only later."""
        declared = (link for link in self.links.get(id_, ()) if link.claim.source != PROSE)
        news = (self.members[link.new] for link in declared if link.new is not None)
        return any(new.standing.valid_from is not None and new.standing.valid_from > as_of for new in news)

    def circles(self, as_of: datetime) -> Iterator[tuple[int, ...]]:
        """Yield the circles among whole-document claims, each once, from its least member by path."""
        told: set[frozenset[int]] = set()
        for start in sorted(self.links, key=lambda id_: self.members[id_].path):
            trail: list[int] = []
            at: int | None = start
            while at is not None and at not in trail:
                trail.append(at)
                acting = self._acting(at, as_of, None)
                at = acting[0].new if acting else None
            if at is not None and (circle := tuple(trail[trail.index(at) :])) and frozenset(circle) not in told:
                told.add(frozenset(circle))
                yield circle

    def _acting(self, id_: int, as_of: datetime, known_as_of: datetime | None) -> list[Link]:
        """Return the links that retire a document, the one to follow first: agreed, resolved, newest, by path."""
        acting = [link for link in self.links.get(id_, ()) if self._acts(link, as_of, known_as_of)]
        sides: dict[int | None, set[bool]] = {}
        for link in acting:
            sides.setdefault(link.new, set()).add(link.own)
        return sorted(acting, key=lambda link: self._preference(link, len(sides[link.new])))

    def _preference(self, link: Link, sides: int) -> tuple[bool, int, float, str]:
        new = self.members.get(link.new) if link.new is not None else None
        since = new.standing.valid_from.timestamp() if new and new.standing.valid_from else 0.0
        return new is None, -sides, -since, new.path if new else link.name

    def _acts(self, link: Link, as_of: datetime, known_as_of: datetime | None) -> bool:
        if link.claim.source == PROSE or not self._said(link.by, link.claim, known_as_of):
            return False
        if link.new is None:
            return link.own
        new = self.members[link.new]
        if not _known(new.known_since, known_as_of):
            return False
        begun = new.standing.valid_from is None or new.standing.valid_from <= as_of
        return begun and (link.own or _was_in_force(new.standing))

    def _said(self, by: int, claim: Claim, known_as_of: datetime | None) -> bool:
        """Tell whether a claim was known then, by someone who may make it."""
        known = _known(claim.asserted_at, known_as_of) and _known(self.members[by].known_since, known_as_of)
        return known and claim.source != PROSE and (claim.kind == SUPERSEDED_BY or self._may_replace(by))

    def _may_replace(self, by: int) -> bool:
        return _was_in_force(self.members[by].standing)


def _was_in_force(standing: Standing) -> bool:
    return standing.status is not Status.UNADOPTED and not standing.problem


def _known(since: datetime | None, known_as_of: datetime | None) -> bool:
    return known_as_of is None or since is None or since <= known_as_of
