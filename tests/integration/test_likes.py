"""Sentence embeddings beside words, by the real packaged model."""

from __future__ import annotations

from pathlib import Path

from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.likes import Likeness
from recalld.lessons.match import Gate, Matcher
from recalld.settings import EmbedSettings

PURGE = Guardrail(
    "purge", "Purging a queue throws work away", "Is nothing pending in the queue?", "Mails in it were lost for ever."
)
TEA = Guardrail("tea", "Tea is in the kitchen", "Is there milk?", "We ran out of it.")
ACT = Action(text="Empty the mail queue so that the sender begins with nothing pending")


async def test_differently_worded_acts_are_found_and_nothing_else(tmp_path: Path) -> None:
    embedder = await make_embedder(EmbedSettings(), tmp_path)

    async def loaded() -> Embedder:
        return embedder

    likeness = Likeness(loaded, lambda: True)
    matcher = Matcher([PURGE, TEA], Gate(weight=4.2, blend=4.0))
    vectors = await likeness.of_guardrails(matcher.guardrails)
    assert vectors.shape == (2, embedder.dimension)
    vector = await likeness.of_act(ACT)
    assert vector is not None
    assert matcher.match(ACT) == []
    assert [one.guardrail.id for one in matcher.match(ACT, vectors @ vector)] == ["purge"]
    other = Action(text="Paint the kitchen wall of the harbour office")
    painted = await likeness.of_act(other)
    assert painted is not None and matcher.match(other, vectors @ painted) == []
    assert await likeness.of_act(Action(tool="Bash", command="git log")) is None
    assert await Likeness(loaded, lambda: False).of_act(ACT) is None
    assert (await likeness.of_guardrails([])).shape == (0, embedder.dimension)
    await embedder.aclose()
