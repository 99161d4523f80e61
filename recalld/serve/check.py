"""The verb ``check``: what a memo that is about to be saved replaces, repeats or contradicts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld.ingest.parse import read
from recalld.model import Filters, Generation, Mode, ParsedDocument, State
from recalld.recall.answer import Answering, Judged, Question
from recalld.serve.search import named_repos
from recalld.store import Store, StoredDocument
from recalld.trust.compare import SAME_MATTER, Contradiction, contradictions, repeated_share, shared_matter
from recalld.trust.graph import CLAIMS, PROSE, SUPERSEDES, Graph, Member
from recalld.trust.members import member
from recalld.trust.verdict import Moment, Verdict

COMPARED = 8
"""Documents that a memo is compared with: the nearest."""
REPEATED = 0.6
"""Share of a memo's word sequences from which it repeats another."""
_ORDER = ("near-duplicate", "contradicts", "probably-supersedes", "relies-on-superseded")
_QUERY_WORDS = 120
_NEW = -1
"""The id of the memo that has none yet."""


@dataclass(slots=True)
class CheckVerb:
    """Compares a memo with what is nearest to it; ``answering`` gives what answers from a generation."""

    store: Store
    answering: Callable[[Generation], Awaitable[Answering]]
    clock: Callable[[], datetime]

    async def __call__(self, agent: str, request: wire.CheckRequest) -> wire.CheckReply:
        """Return what to look at; the state says whether meaning was compared, or words alone."""
        await named_repos(self.store, (request.repo,) if request.repo else ())
        generation = await self.store.generations.serving()
        if generation is None:
            return wire.CheckReply(findings=(), compared=0, state=State.WARMING)
        memo = _read(request.path, request.text)
        filters = Filters(repos=(request.repo,) if request.repo else (), agent=agent)
        answering = await self.answering(generation)
        question = Question(query_of(memo), COMPARED * 2, Mode.RERANK, filters, generation.id, Moment(self.clock()))
        answer = await answering.answer(question)
        near = _documents([*answer.hits, *answer.withheld], request)[:COMPARED]
        findings = [finding for judged in near for finding in await self._compare(memo, judged)]
        findings.sort(key=lambda finding: _ORDER.index(finding.code))
        return wire.CheckReply(findings=tuple(findings), compared=len(near), state=answer.retrieval.state)

    async def _compare(self, memo: ParsedDocument, judged: Judged) -> list[wire.CheckFinding]:
        chunk = judged.hit.chunk
        document = await self.store.documents.get(chunk.repo, chunk.path)
        return list(compared(memo, document, judged)) if document is not None else []


def query_of(memo: ParsedDocument) -> str:
    """Return what a memo is about, short enough to be a question: its title and how it begins."""
    body = " ".join(memo.text.split()[:_QUERY_WORDS])
    return f"{memo.title} {body}"[:2_000]


def compared(memo: ParsedDocument, document: StoredDocument, judged: Judged) -> Iterator[wire.CheckFinding]:
    """Yield what a memo has to do with a document that was found near it."""
    verdict = judged.judgement.verdict
    named = _names(memo, document)
    if verdict in (Verdict.SUPERSEDED, Verdict.RETIRED, Verdict.EXPIRED):
        if named and not _claims(memo, document):
            advice = f"refer to {judged.successor} instead" if judged.successor else ""
            yield _finding(
                "relies-on-superseded", document, f"it names {document.path}: {judged.judgement.reason}", advice
            )
        return
    if _claims(memo, document):
        return
    line = f"supersedes: {document.path}"
    share = repeated_share(memo.text, document.text)
    if share >= REPEATED:
        message = f"{share:.0%} of it stand in {document.path} already"
        yield _finding("near-duplicate", document, message, f"{line}, or change that memo instead")
        return
    against = list(contradictions(body_of(memo.path, memo.text), body_of(document.path, document.text)))
    if against:
        yield _finding("contradicts", document, _words(against), line)
    elif memo.kind == document.kind and shared_matter(memo.title, document.title) >= SAME_MATTER:
        yield _finding("probably-supersedes", document, f"{document.title!r} is on the same matter, and holds", line)


def _read(path: str, text: str) -> ParsedDocument:
    return read(path, text.encode("utf-8", "surrogatepass")).document


def body_of(path: str, text: str) -> str:
    """Return a document's text below its frontmatter: numbers and dates in that are no statements to contradict."""
    reading = read(path, text.encode("utf-8", "surrogatepass"))
    return "\n".join(reading.lines.all[reading.front.last :])


def _words(against: Sequence[Contradiction]) -> str:
    first = against[0]
    more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
    return f"{first.ours[:160]!r} against {first.theirs[:160]!r}: {first.differs}{more}"


def _documents(found: Sequence[Judged], request: wire.CheckRequest) -> list[Judged]:
    """Return the first hit of each document but the memo's own."""
    first: dict[int, Judged] = {}
    for judged in found:
        if judged.hit.chunk.path != request.path:
            first.setdefault(judged.hit.chunk.document_id, judged)
    return list(first.values())


def _names(memo: ParsedDocument, document: StoredDocument) -> bool:
    """Tell whether a memo links to a document or names it."""
    graph = _graph(document)
    return any(graph.named(edge.target, document.repo) for edge in memo.edges)


def _claims(memo: ParsedDocument, document: StoredDocument) -> bool:
    """Tell whether either declares that the memo replaces the document, or the other way round."""
    graph = _graph(document)
    declared = [edge for edge in memo.edges if edge.kind in CLAIMS and edge.source != PROSE]
    if any(graph.named(edge.target, document.repo) for edge in declared):
        return True
    new = Graph([_member(_NEW, document.repo, memo)])
    claims = [edge for edge in document.edges if edge.kind in CLAIMS and edge.kind != SUPERSEDES]
    return any(new.named(edge.target, document.repo) for edge in claims)


def _graph(document: StoredDocument) -> Graph:
    known = member(document.id, document.repo, document.path, document.title, document.aliases, document.metadata, ())
    return Graph([known])


def _member(id_: int, repo: str, memo: ParsedDocument) -> Member:
    return member(id_, repo, memo.path, memo.title, memo.aliases, memo.metadata, ())


def _finding(code: str, document: StoredDocument, message: str, suggestion: str) -> wire.CheckFinding:
    return wire.CheckFinding(
        code=code,
        repo=document.repo,
        path=document.path,
        title=document.title,
        message=message,
        suggestion=suggestion,
    )
