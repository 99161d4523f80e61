"""Late interaction, on token signs that are easy to reason about."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from recalld.embed.hashing import HashingEmbedder
from recalld.model import Filters, QueryVectors, TokenBits, Vector
from recalld.recall.ports import Ranking
from recalld.recall.rerank import LateInteraction


class Signs:
    """Stored signs by chunk id."""

    def __init__(self, bits: Mapping[int, TokenBits]) -> None:
        self._bits = bits

    async def search(self, generation_id: int, vector: Vector, k: int, filters: Filters) -> Ranking:
        raise AssertionError("reranking looks at its candidates only")

    async def bits(self, chunk_ids: Sequence[int]) -> Mapping[int, TokenBits]:
        return {chunk: self._bits[chunk] for chunk in chunk_ids if chunk in self._bits}

    async def cosines(self, vector: Vector, chunk_ids: Sequence[int]) -> Mapping[int, float]:
        raise AssertionError("reranking looks at token signs only")


async def _signs(*texts: str) -> Signs:
    made = await HashingEmbedder().embed_documents(texts)
    return Signs({number: vectors.bits for number, vectors in enumerate(made, start=1) if vectors.bits is not None})


async def test_the_passage_with_more_of_the_querys_words_is_first() -> None:
    leg = await _signs("the cat", "the grey cat sleeps", "a dog barks")
    query = await HashingEmbedder().embed_query("grey cat")
    ranked = await LateInteraction(leg).rerank("grey cat", query, [3, 1, 2])
    assert ranked is not None
    assert [chunk for chunk, _ in ranked] == [2, 1, 3]
    scores = [score for _, score in ranked]
    # A sign vector of a word has a cosine of about sqrt(2 / pi) with the vector itself, and of about 0 with another's.
    assert scores[0] == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)
    assert scores[0] > scores[1] + 0.2 > scores[2] + 0.4


async def test_equal_passages_stay_in_the_order_they_came_in() -> None:
    leg = await _signs("one text", "one text", "one text")
    query = await HashingEmbedder().embed_query("text")
    for candidates in ([1, 2, 3], [3, 1, 2]):
        ranked = await LateInteraction(leg).rerank("text", query, candidates)
        assert ranked is not None
        assert [chunk for chunk, _ in ranked] == candidates


async def test_without_token_vectors_there_is_nothing_to_go_by() -> None:
    query = await HashingEmbedder().embed_query("cat")
    pooled_only = QueryVectors(query.pooled, None)
    assert await LateInteraction(await _signs("cat")).rerank("cat", pooled_only, [1]) is None
    assert await LateInteraction(Signs({})).rerank("cat", query, [1, 2]) is None


async def test_a_candidate_that_is_gone_is_left_out() -> None:
    query = await HashingEmbedder().embed_query("cat")
    ranked = await LateInteraction(await _signs("cat")).rerank("cat", query, [1, 99])
    assert ranked is not None
    assert [chunk for chunk, _ in ranked] == [1]
