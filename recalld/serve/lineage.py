"""The verb ``lineage``: the supersession graph around one document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from recalld.bus import wire
from recalld.serve.documents import DocumentVerbs
from recalld.store import Store
from recalld.trust.graph import Graph, Link, Member
from recalld.trust.verdict import Moment, judge_standing

STANDS = "stands"


@dataclass(slots=True)
class LineageVerb:
    """Tells what replaced what, by the same rules that judge a search's hits."""

    store: Store
    documents: DocumentVerbs
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.LineageRequest) -> wire.LineageReply:
        """Return the neighbourhood of a document. Raises NotFoundError, UsageError where several could be meant."""
        document = await self.documents.find(agent, request.ref, request.repo)
        as_of = request.as_of or self.clock()
        moment = Moment(as_of if as_of.tzinfo else as_of.replace(tzinfo=UTC))
        graph = Graph(await self.store.standings.around([document.id]))
        links = {link for each in graph.links.values() for link in each}
        return wire.LineageReply(
            repo=document.repo,
            path=document.path,
            kin=tuple(_kin(each, graph, moment) for each in sorted(graph.members.values(), key=lambda each: each.path)),
            replaced=tuple(
                sorted((_replaced(link, graph) for link in links), key=lambda each: (each.old, each.new or "", each.by))
            ),
        )


def _kin(member: Member, graph: Graph, moment: Moment) -> wire.KinView:
    judgement, standing = judge_standing(member, graph, moment), member.standing
    return wire.KinView(
        path=member.path,
        title=member.title,
        status=standing.written,
        verdict=str(judgement.verdict) if judgement else STANDS,
        reason=judgement.reason if judgement else "",
        valid_from=standing.valid_from,
        valid_until=standing.valid_until,
        known_since=member.known_since,
    )


def _replaced(link: Link, graph: Graph) -> wire.ReplacedView:
    return wire.ReplacedView(
        old=graph.members[link.old].path,
        new=graph.members[link.new].path if link.new is not None else None,
        name=link.name,
        by=graph.members[link.by].path,
        line=link.claim.line,
        said_since=link.claim.asserted_at,
    )
