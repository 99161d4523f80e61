"""From evidence to an answer: by a language model where one is configured, else by quoting."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from recalld.episodes import answerer as prompts
from recalld.episodes.answerer import Answerer, Prompt, Say
from recalld.episodes.evidence import Evidence
from recalld.episodes.extract import NAME, Embed, extract
from recalld.episodes.form import Form, Scope
from recalld.episodes.junk import junk
from recalld.errors import RecalldError
from recalld.model import Vector

OwnVector: TypeAlias = "Callable[[], Awaitable[Vector | None]]"


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as it was written. ``quoted`` where it is made of quotes; ``keep`` False: it is not for memory.

    ``missing``: whoever wrote read the evidence and says that it has no answer.
    """

    text: str
    by: str
    quoted: bool
    finished: bool = True
    keep: bool = True
    missing: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Imagined:
    """A passage as it might answer a question; empty where none came of it, and ``why``."""

    text: str
    why: str = ""


class Writer(Protocol):
    """Writes answers from evidence. ``imagines``: it can imagine a passage to search with."""

    @property
    def name(self) -> str: ...
    @property
    def imagines(self) -> bool: ...
    async def expanded(self, question: str) -> Imagined: ...
    async def reconciled(self, question: str, earlier: str, later: str, evidence: Evidence) -> Written | None: ...
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

    @property
    def imagines(self) -> bool:
        """Without a model nothing is imagined."""
        return False

    async def expanded(self, question: str) -> Imagined:
        """Return no passage."""
        return Imagined("", "there is no model to imagine a passage")

    async def reconciled(self, question: str, earlier: str, later: str, evidence: Evidence) -> Written | None:
        """Return None: without a model rules decide."""
        return None

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
    """Has a language model write, and quotes where that fails, and says so. ``hyde``: it may imagine passages."""

    answerer: Answerer
    quoting: Quoting
    hyde: bool = True

    @property
    def name(self) -> str:
        """Who writes."""
        return self.answerer.name

    @property
    def imagines(self) -> bool:
        """Whether it may imagine passages to search with."""
        return self.hyde

    async def expanded(self, question: str) -> Imagined:
        """Have the model imagine the passage that would answer a question."""
        try:
            made = await self.answerer.complete(prompts.imagining(question))
        except RecalldError as error:
            return Imagined("", f"{self.name} imagines nothing: {error.message}")
        text = made.text if made.finished or "." not in made.text else made.text[: made.text.rindex(".") + 1]
        rubbish = junk(text)
        return Imagined("", f"what {self.name} imagined is no passage: {rubbish}") if rubbish else Imagined(text)

    async def write(self, question: str, form: Form, evidence: Evidence, vector: OwnVector, say: Say | None) -> Written:
        """Have the model write. What cannot be had is quoted instead, and not kept."""
        prompt = prompts.answering(question, evidence.text, form.scope is Scope.SET)
        try:
            return await self._completed(prompt, _Withholding(say).take if say is not None else None)
        except RecalldError as error:
            quoted = await self.quote(question, form, evidence, vector)
            return replace(
                quoted, notes=(f"{self.name} does not answer ({error.message}): quoted instead",), keep=False
            )

    async def reconciled(self, question: str, earlier: str, later: str, evidence: Evidence) -> Written | None:
        """Have the model make one answer of an earlier and a later one; empty, with a note, where it cannot."""
        try:
            return await self._completed(prompts.reconciling(question, earlier, later, evidence.text), None)
        except RecalldError as error:
            return Written("", self.name, False, notes=(error.message,))

    async def _completed(self, prompt: Prompt, say: Say | None) -> Written:
        made = await self.answerer.complete(prompt, say)
        if _says_missing(made.text):
            note = f"{self.name} finds no answer in the evidence"
            return Written("", self.name, False, missing=True, notes=(note,))
        return Written(made.text.strip(), self.name, False, made.finished)

    async def quote(self, question: str, form: Form, evidence: Evidence, vector: OwnVector) -> Written:
        """Quote, as there is nothing better."""
        return await self.quoting.quote(question, form, evidence, vector)


class _Withholding:
    """Passes an answer's words on as soon as they cannot be the sign for "there is no answer" any more."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._held: str | None = ""

    async def take(self, words: str) -> None:
        """Take the next words."""
        if self._held is not None:
            self._held += words
            if _may_be_missing(self._held):
                return
            words, self._held = self._held, None
        await self._say(words)


def _says_missing(text: str) -> bool:
    return text.strip().strip(".") == prompts.NOT_THERE


def _may_be_missing(text: str) -> bool:
    return prompts.NOT_THERE.startswith(text.strip()) or _says_missing(text)
