"""What answers questions in sentences, put together for the role that serves: memory, retrieval, and who writes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import anyio

from recalld.answerers import Budgeted, make_answerer
from recalld.bus import wire
from recalld.bus.files import FileClient
from recalld.bus.scan import ScanClient
from recalld.bus.streams import IngestStream
from recalld.embed.registry import GenerationEmbedder
from recalld.episodes import answerer as prompts
from recalld.episodes.ask import Asking
from recalld.episodes.confidence import EpisodeModel
from recalld.episodes.evidence import Count
from recalld.episodes.extract import Embed
from recalld.episodes.fitted import fitted
from recalld.episodes.freshness import Freshness
from recalld.episodes.gathering import Gathering
from recalld.episodes.lookup import Lookup
from recalld.episodes.writing import Generating, Quoting, Writer
from recalld.errors import DependencyError, RecalldError
from recalld.foundation import now
from recalld.model import Generation, Vector
from recalld.node import Node
from recalld.trust.receipts import Citation

log = logging.getLogger(__name__)

CAUGHT_UP_S = 5.0
"""How long a question waits for a file that was saved a moment ago (seconds)."""
POLL_S = 0.02


class Answers:
    """What answers questions over each generation. An answerer that cannot be had is said in every answer."""

    def __init__(self, node: Node) -> None:
        connection = node.foundation.connection
        self._node = node
        self._files = FileClient(connection)
        self._scans = ScanClient(connection)
        self._ingest = IngestStream(connection)
        self.trouble = ""
        self.answerer = self._answerer()

    def _answerer(self) -> Budgeted | None:
        try:
            return make_answerer(self._node.settings.ask, self._node.store.spending, now)
        except RecalldError as error:
            self.trouble = f"{self._node.settings.ask.answerer} cannot be used: {error.message}"
            log.error("%s; answers are quoted. %s", self.trouble, error.suggestion)
            return None

    async def check(self) -> wire.Check:
        """Tell how who writes answers fares."""
        name = self._node.settings.ask.answerer
        if self.trouble:
            return wire.Check(
                name="answerer", status="degraded", detail=self.trouble, suggestion="see ask.answerer_options"
            )
        return wire.Check(name="answerer", status="ok", detail=self.answerer.name if self.answerer else name)

    async def asking(self, generation: Generation) -> Asking:
        """Return what answers over a generation."""
        node = self._node
        embedder = GenerationEmbedder(node.embedders, generation)

        async def embed(text: str) -> Vector | None:
            try:
                with anyio.fail_after(node.settings.recall.embed_timeout_s):
                    return (await embedder.embed_query(text)).pooled
            except (RecalldError, TimeoutError):
                return None

        freshness = Freshness(node.store, self._on_disk, now)
        count, _ = await self.counting()
        writer = self._writer(self._embed_sentences(generation))
        return Asking(
            node.store,
            Lookup(node.store, freshness, await self.model(generation.embedder_fingerprint), now),
            Gathering(await node.answering(generation), freshness, writer, count, self._caught_up),
            embed,
            writer,
            now,
        )

    async def model(self, embedder: str) -> EpisodeModel | None:
        """Return what tells near questions apart, None where nothing is fitted for an embedder."""
        return await fitted(self._node.store, embedder)

    async def counting(self) -> tuple[Count, str]:
        """Return what counts tokens, and whose tokens those are: the answerer's, or else the embedder's."""
        if self.answerer is not None:
            return _one(self.answerer.count_tokens), self.answerer.name
        embedder = await self._node.embedders.primary()
        return _one(embedder.count_tokens), embedder.name

    def _writer(self, embed: Embed) -> Writer:
        quoting = Quoting(embed, notes=(f"{self.trouble}: quoted instead",) if self.trouble else ())
        if self.answerer is None:
            return quoting
        return Generating(self.answerer, quoting, self._node.settings.ask.hyde)

    def _embed_sentences(self, generation: Generation) -> Embed:
        async def embed(texts: Sequence[str]) -> Sequence[Vector]:
            embedder = await self._node.embedders.of(generation)
            fitting = [_within(text, embedder.token_limit, embedder.count_tokens) for text in texts]
            return [vectors.pooled for vectors in await embedder.embed_documents(fitting)]

        return embed

    async def rewrite(self, question: str, said: list[tuple[str, str]]) -> str | None:
        """Have the answerer make a follow-up question stand alone; None where it cannot."""
        if self.answerer is None:
            return None
        try:
            made = await self.answerer.complete(prompts.rewriting(question, said))
        except RecalldError as error:
            log.info("the question is rewritten by rules: %s", error.message)
            return None
        text = " ".join(made.text.split())
        return text if made.finished and 0 < len(text) <= 2_000 else None

    async def aclose(self) -> None:
        """Release the answerer."""
        if self.answerer is not None:
            await self.answerer.aclose()

    async def _on_disk(self, sources: Sequence[Citation]) -> Mapping[Citation, bool]:
        """Say of documents whether their files are as the index has them."""
        told: dict[Citation, bool] = {}
        for name in dict.fromkeys(one.repo for one in sources):
            own = [one for one in sources if one.repo == name]
            repo = await self._node.store.repos.get(name)
            if repo is None:
                continue
            with anyio.move_on_after(self._node.settings.ask.disk_timeout_ms / 1e3) as patience:
                held = await self._files.hashes(repo, [one.path for one in own])
                told |= {one: held[one.path] == one.content_hash for one in own if one.path in held}
            if patience.cancelled_caught:
                raise DependencyError(f"{repo.node}, which watches {name}, does not say")
        return told

    async def _caught_up(self, sources: Sequence[Citation]) -> bool:
        """Have documents looked at, and wait until they are indexed; tell whether that was in time."""
        with anyio.move_on_after(CAUGHT_UP_S):
            for one in sources:
                repo = await self._node.store.repos.get(one.repo)
                if repo is not None:
                    await self._scans.scan(repo, wire.ReindexRequest(repo=repo.name, path=one.path))
            seq = await self._ingest.newest()
            while not await self._ingest.indexed_past(seq):  # noqa: ASYNC110 - other nodes may index
                await anyio.sleep(POLL_S)
            return True
        return False


def _one(count: Callable[[Sequence[str]], Sequence[int]]) -> Count:
    return lambda text: count([text])[0]


def _within(text: str, limit: int, count: Callable[[Sequence[str]], Sequence[int]]) -> str:
    """Return as much of a sentence as an embedder takes."""
    while count([text])[0] > limit:
        text = text[: int(len(text) * 0.8)]
    return text
