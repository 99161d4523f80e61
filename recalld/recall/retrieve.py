"""A query's way to its hits: two legs at once, fusion, rerank and blend, documents, and only then the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from recalld.concurrent import both
from recalld.model import Filters, Mode, QueryVectors, RankedChunk, Retrieval, State, StoredChunk
from recalld.recall.attempt import Failure, attempt
from recalld.recall.blend import blend
from recalld.recall.context import Context, repeated_hashes
from recalld.recall.fuse import fuse, shortlist
from recalld.recall.passages import best_passage
from recalld.recall.pool import order, pool
from recalld.recall.ports import Index, Owner, QueryAnalyzer, QueryEmbedder, Ranking
from recalld.recall.rerank import LateInteraction, Reranker
from recalld.recall.trace import Trace
from recalld.settings import RecallSettings

SPARE = 4
"""Texts fetched beyond the k asked for, so that a suppressed hit seldom costs another round trip."""


@dataclass(slots=True)
class _Search:
    """One search under way."""

    query: str
    k: int
    mode: Mode
    filters: Filters
    generation_id: int
    trace: Trace
    vectors: QueryVectors | None = None
    state: State = State.READY
    notes: list[str] = field(default_factory=list)

    def go_on_without(self, failure: Failure, instead: str) -> None:
        """Go on without a model; ``instead`` says what that makes of the search."""
        self.state = failure.state if self.state is State.READY else self.state
        self.notes.append(f"{instead}: {failure.reason}")


class Retriever:
    """Finds the passages that best answer a query, in one generation of the index.

    ``embedder`` must be of the generation's vector space; ``reranker`` has the last word beside late interaction.
    Nothing here judges whether a hit can be trusted: the scores of every stage go along for who does.
    """

    def __init__(
        self,
        index: Index,
        embedder: QueryEmbedder,
        analyzer: QueryAnalyzer,
        settings: RecallSettings,
        reranker: Reranker | None = None,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._analyzer = analyzer
        self._settings = settings
        self._late = LateInteraction(index.vectors)
        self._reranker = reranker

    async def retrieve(
        self, query: str, k: int, mode: Mode, filters: Filters, generation_id: int, trace: bool = False
    ) -> Retrieval:
        """Return at most ``k`` hits, best first, and how they came about.

        While the embedder is warming up or fails, the lexical leg answers alone, and state and notes say so.
        ``trace`` adds each stage's ranking. Raises DependencyError when the index itself cannot be read.
        """
        search = _Search(query, k, mode, filters, generation_id, Trace(rankings=trace))
        legs = await self._legs(search)
        ranking, owners = await self._rank(search, legs)
        hits = await self._hits(search, self._ordered(search, ranking, owners))
        return Retrieval(hits, tuple(search.trace.stages), search.state, tuple(search.notes), search.vectors)

    async def best_of(
        self, query: str, vectors: QueryVectors | None, documents: Sequence[int], generation_id: int
    ) -> dict[int, RankedChunk]:
        """Return of each document the passage that best answers the query; one without a passage is left out.

        ``vectors`` are the query's; without them it is the document's first.
        """
        held = await self._index.chunks.of_documents(generation_id, documents)
        found = {id_: await best_passage(self._index, self._late, query, vectors, held[id_]) for id_ in held}
        chunks = {chunk.id: chunk for chunk in await self._index.chunks.fetch([best.chunk for best in found.values()])}
        return {
            id_: RankedChunk(chunks[best.chunk], best.score, best.scores)
            for id_, best in found.items()
            if best.chunk in chunks
        }

    async def _legs(self, search: _Search) -> list[Ranking]:
        """Ask the legs of the mode, at once; an embedder that cannot answer leaves the lexical one.

        Neither begins before the query is embedded: inference wants every core, and beside the lexical leg it took
        twice as long, with the dense leg waiting for it.
        """
        if search.mode is Mode.LEXICAL:
            return [await self._lexical(search)]
        search.vectors = vectors = await self._embed(search)
        if vectors is None:
            return [await self._lexical(search)]
        if search.mode is Mode.DENSE:
            return [await self._dense(search, vectors)]
        return list(await both(lambda: self._dense(search, vectors), lambda: self._lexical(search)))

    async def _lexical(self, search: _Search) -> Ranking:
        begun = perf_counter()
        terms = self._analyzer.query(search.query)
        if not terms:
            search.notes.append("the query has no word to search lexically for")
            return []
        depth = max(self._settings.candidates, search.k)
        ranking = await self._index.lexical.search(search.generation_id, terms, depth, search.filters)
        search.trace.stage("lexical", begun, len(terms), ranking)
        search.trace.score("lexical", ranking)
        return ranking

    async def _dense(self, search: _Search, vectors: QueryVectors) -> Ranking:
        begun = perf_counter()
        depth = max(self._settings.candidates, search.k)
        ranking = await self._index.vectors.search(search.generation_id, vectors.pooled, depth, search.filters)
        search.trace.stage("dense", begun, 1, ranking)
        search.trace.score("dense", ranking)
        return ranking

    async def _embed(self, search: _Search) -> QueryVectors | None:
        """Embed the query, or say why it could not be."""
        begun = perf_counter()
        vectors = await attempt(
            lambda: self._embedder.embed_query(search.query), self._settings.embed_timeout_s, "the embedder"
        )
        if isinstance(vectors, Failure):
            search.go_on_without(vectors, "answered by words alone")
            return None
        search.trace.stage("embed", begun, 1, [])
        return vectors

    async def _rank(self, search: _Search, legs: list[Ranking]) -> tuple[Ranking, Mapping[int, Owner]]:
        """Make one ranking of the legs' and learn where its chunks stand."""
        fused = self._fuse(search, legs) if len(legs) > 1 else legs[0]
        ids = [chunk for chunk, _ in fused]
        if search.mode is not Mode.RERANK or search.vectors is None or not fused:
            return fused, await self._index.chunks.owners(ids)
        short = shortlist(fused, legs, max(self._settings.rerank, search.k), self._settings.reserve)
        reranked, (owners, _) = await both(
            lambda: self._rerank(search, short),
            lambda: both(lambda: self._index.chunks.owners(ids), lambda: self._complete_cosines(search, short)),
        )
        return (fused if reranked is None else self._blend(search, reranked)), owners

    async def _rerank(self, search: _Search, candidates: Sequence[int]) -> Ranking | None:
        """Rank by late interaction, and by the second reranker where there is one: then its order counts.

        Late interaction goes first all the same: confidence is made of its scores, and its order stands where the
        other has none. None with a note where neither has one, so that the fused order stands.
        """
        late = await self._opinion(search, self._late, candidates)
        second = await self._second_opinion(search, self._reranker, candidates) if self._reranker else None
        if late is None and second is None:
            search.notes.append("not reranked: the index or the embedder has no token vectors")
        return late if second is None else second

    async def _second_opinion(self, search: _Search, reranker: Reranker, candidates: Sequence[int]) -> Ranking | None:
        limit = self._settings.rerank_timeout_s
        ranking = await attempt(lambda: self._opinion(search, reranker, candidates), limit, reranker.name)
        if isinstance(ranking, Failure):
            search.go_on_without(ranking, f"not reranked by {reranker.name}")
            return None
        return ranking

    async def _opinion(self, search: _Search, reranker: Reranker, candidates: Sequence[int]) -> Ranking | None:
        assert search.vectors is not None
        begun = perf_counter()
        ranking = await reranker.rerank(search.query, search.vectors, candidates)
        if ranking is not None:
            search.trace.stage(reranker.name, begun, len(candidates), ranking)
            search.trace.score(reranker.name, ranking)
        return ranking

    async def _complete_cosines(self, search: _Search, chunks: Sequence[int]) -> None:
        """Learn the cosines of those chunks that the dense leg did not find."""
        lacking = search.trace.lacking("dense", chunks)
        if search.vectors is None or not lacking:
            return
        cosines = await self._index.vectors.cosines(search.vectors.pooled, lacking)
        search.trace.score("dense", list(cosines.items()))

    def _blend(self, search: _Search, reranked: Ranking) -> Ranking:
        begun = perf_counter()
        legs = [search.trace.by(name) for name in ("dense", "lexical")]
        blended = blend(reranked, legs, self._settings.blend)
        search.trace.stage("blend", begun, len(reranked), blended)
        return blended

    def _fuse(self, search: _Search, legs: list[Ranking]) -> Ranking:
        begun = perf_counter()
        fused = fuse(legs, self._settings.rrf_k)
        search.trace.stage("fuse", begun, sum(map(len, legs)), fused)
        search.trace.score("rrf", fused)
        return fused

    def _ordered(self, search: _Search, ranking: Ranking, owners: Mapping[int, Owner]) -> Ranking:
        """Order by documents and leave out texts that a better chunk has to the letter."""
        begun = perf_counter()
        ordered = order(pool(ranking, owners, self._settings.pool_share), self._settings.crowding)
        dropped = repeated_hashes([chunk for chunk, _ in ordered], owners)
        left = [entry for entry in ordered if entry[0] not in dropped]
        search.trace.stage("pool", begun, len(ranking), left, dropped)
        return left

    async def _hits(self, search: _Search, ordered: Ranking) -> list[RankedChunk]:
        """Fetch texts in order until ``k`` hits are found that do not repeat each other."""
        begun = perf_counter()
        context = Context(search.k)
        dropped: dict[int, str] = {}
        hits: list[RankedChunk] = []
        at = 0
        while context.room and at < len(ordered):
            window = ordered[at : at + context.room + SPARE]
            at += len(window)
            chunks = await self._fetch(search, [chunk for chunk, _ in window])
            for chunk_id, score in window:
                if chunk_id not in chunks or not context.room:
                    continue
                reason = context.offer(chunks[chunk_id])
                if reason is None:
                    hits.append(RankedChunk(chunks[chunk_id], score, search.trace.scores(chunk_id)))
                else:
                    dropped[chunk_id] = reason
        search.trace.stage("context", begun, len(ordered), [(hit.chunk.id, hit.score) for hit in hits], dropped)
        return hits

    async def _fetch(self, search: _Search, ids: Sequence[int]) -> dict[int, StoredChunk]:
        """Fetch chunks, and the cosines that are not known yet."""
        fetched, _ = await both(lambda: self._index.chunks.fetch(ids), lambda: self._complete_cosines(search, ids))
        return {chunk.id: chunk for chunk in fetched}
