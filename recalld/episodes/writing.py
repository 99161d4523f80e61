"""From evidence to an answer: by a language model where one is configured, else by quoting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from recalld.episodes import answerer as prompts
from recalld.episodes.answerer import Answerer, Say
from recalld.episodes.evidence import Evidence
from recalld.episodes.extract import NAME, Embed, extract
from recalld.episodes.form import Form, Scope
from recalld.errors import RecalldError
from recalld.model import Vector
from recalld.recall.answer import Question

OwnVector: TypeAlias = "Callable[[], Awaitable[Vector | None]]"


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as it was written. ``quoted`` where it is made of quotes; ``keep`` False: it is not for memory."""

    text: str
    by: str
    quoted: bool
    finished: bool = True
    keep: bool = True
    notes: Sequence[str] = ()


class Writer(Protocol):
    """Writes answers from evidence."""

    @property
    def name(self) -> str: ...
    async def expanded(self, question: Question) -> Question: ...
    async def write(
        self, question: str, form: Form, evidence: Evidence, vector: OwnVector, say: Say | None
    ) -> Written: ...
    async def quote(self, question: str, form: Form, evidence: Evidence, vector: OwnVector) -> Written: ...


@dataclass(frozen=True, slots=True)
class Quoting:
    """Quotes the best supported sentences. ``embed`` embeds sentences in the space of the question's vector."""

    embed: Embed
    notes: Sequence[str] = ()
    name: str = NAME

    async def expanded(self, question: Question) -> Question:
        """Return the question as it is: without a model there is nothing to add."""
        return question

    async def write(self, question: str, form: Form, evidence: Evidence, vector: OwnVector, say: Say | None) -> Written:
        """Quote, in one piece."""
        quoted = await self.quote(question, form, evidence, vector)
        written = replace(quoted, notes=(*quoted.notes, *self.notes))
        if say is not None and written.text:
            await say(written.text)
        return written

    async def quote(self, question: str, form: Form, evidence: Evidence, vector: OwnVector) -> Written:
        """Quote the sentences that speak most of the question."""
        own = await vector()
        if own is None:
            return Written("", NAME, True, notes=("the question could not be embedded: nothing is quoted",))
        return Written(await extract(question, own, form, evidence, self.embed), NAME, True)


@dataclass(frozen=True, slots=True)
class Generating:
    """Has a language model write, and quotes where that fails, and says so."""

    answerer: Answerer
    quoting: Quoting

    @property
    def name(self) -> str:
        """Who writes."""
        return self.answerer.name

    async def expanded(self, question: Question) -> Question:
        """Return the question as it is searched for."""
        return question

    async def write(self, question: str, form: Form, evidence: Evidence, vector: OwnVector, say: Say | None) -> Written:
        """Have the model write. What cannot be had is quoted instead, and not kept."""
        prompt = prompts.answering(question, evidence.text, form.scope is Scope.SET)
        try:
            made = await self.answerer.complete(prompt, say)
        except RecalldError as error:
            quoted = await self.quote(question, form, evidence, vector)
            return replace(
                quoted, notes=(f"{self.name} does not answer ({error.message}): quoted instead",), keep=False
            )
        if made.text.strip().strip(".") == prompts.NOT_THERE:
            return Written("", self.name, False, notes=(f"{self.name} finds no answer in the evidence",))
        return Written(made.text.strip(), self.name, False, made.finished)

    async def quote(self, question: str, form: Form, evidence: Evidence, vector: OwnVector) -> Written:
        """Quote, as there is nothing better."""
        return await self.quoting.quote(question, form, evidence, vector)
