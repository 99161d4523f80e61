"""What a tool is: a declaration, from which its schemas, its call and its answer follow."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Protocol, TypeVar

import pydantic
from pydantic import Field, TypeAdapter

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import UsageError
from recalld_plugins.mcp import budget, quoting

Req = TypeVar("Req", bound=wire.Request)
Rep = TypeVar("Rep", bound=wire.Reply)

BUDGET = "max_tokens"
_BUDGET: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=budget.LEAST, le=budget.MOST)])


class Progress(Protocol):
    """Tells the caller how far a long work is; ``total`` is None where nobody knows."""

    async def __call__(self, done: float, total: float | None, message: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Memory:
    """What a tool works with."""

    client: RecallClient
    node: str
    """The name of the node whose files lie on this machine."""
    progress: Progress


Ask = Callable[[Memory, Req], Awaitable[Rep]]


def verb(method: Callable[[RecallClient, Req], Awaitable[Rep]]) -> Ask[Req, Rep]:
    """Return what asks one verb of the daemon and nothing else."""

    async def ask(memory: Memory, request: Req) -> Rep:
        return await method(memory.client, request)

    return ask


@dataclass(frozen=True, slots=True)
class Effects:
    """What calling a tool does to the memory, in MCP's words."""

    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True


READS = Effects()
ADDS = Effects(read_only=False)
DROPS = Effects(read_only=False, destructive=True)


@dataclass(frozen=True, slots=True)
class Tool(Generic[Req, Rep]):
    """One tool.

    ``arguments`` says what each argument of the request means; those in ``hidden`` are not offered. ``cuts`` are the
    ways in which a reply is made to fit its budget, the least loss first. ``tell`` is the reply in words, without the
    note on quoting and what was left out; ``plain`` is what of a reply is told at all.
    """

    name: str
    title: str
    description: str
    request: type[Req]
    reply: type[Rep]
    ask: Ask[Req, Rep]
    tell: Callable[[Rep], str]
    effects: Effects = READS
    arguments: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()
    cuts: tuple[budget.Cut[Any], ...] = ()
    plain: Callable[[Rep], Rep] = lambda reply: reply

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments: the request's, and the budget."""
        schema = self.request.model_json_schema()
        offered = {key: each for key, each in schema["properties"].items() if key not in self._all_hidden}
        for key, each in offered.items():
            each.pop("title", None)
            if key in self.arguments:
                each["description"] = self.arguments[key]
        offered[BUDGET] = {
            "type": "integer",
            "minimum": budget.LEAST,
            "maximum": budget.MOST,
            "description": "How long the answer may be, in tokens (estimated). What is left out is said.",
        }
        return {**schema, "properties": offered, "title": self.name, "description": ""}

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the structured answer: the reply's, the note on quoting and what was left out."""
        schema = self.reply.model_json_schema()
        words = {"type": "string", "description": "How to read the strings of this answer."}
        cut = {"type": "array", "items": {"type": "string"}, "description": "What did not fit in max_tokens."}
        schema["properties"] = {"notice": words, "left_out": cut, **schema["properties"]}
        schema["required"] = ["notice", "left_out", *schema.get("required", ())]
        return schema

    def read(self, arguments: Mapping[str, Any], default_budget: int) -> tuple[Req, int]:
        """Return the request that the arguments are, and the budget. Raises UsageError for wrong ones."""
        given = dict(arguments)
        try:
            allowed = _BUDGET.validate_python(given.pop(BUDGET, default_budget), strict=True)
        except pydantic.ValidationError as error:
            raise UsageError(f"{BUDGET}: {error.errors()[0]['msg']}", suggestion=self._suggestion) from None
        if unknown := self._all_hidden & given.keys():
            raise UsageError(f"there is no argument {min(unknown)}", suggestion=self._suggestion)
        try:
            return self.request.model_validate(given), allowed
        except pydantic.ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "arguments"
            message = fault["msg"].replace("valid tuple", "valid array")
            raise UsageError(f"{where}: {message}", suggestion=self._suggestion) from None

    async def answer(self, memory: Memory, request: Req, allowed: int) -> tuple[str, dict[str, Any]]:
        """Ask, and return the answer as text and as structure, each within ``allowed`` tokens. Raises RecalldError."""
        whole = self.plain(await self.ask(memory, request))
        fitted = budget.fit(whole, self.cuts, lambda fitted: self._size(fitted) <= allowed)
        return self._text(fitted), self._structure(fitted)

    def _size(self, fitted: budget.Fitted[Rep]) -> int:
        return max(budget.tokens(self._text(fitted)), budget.tokens(_json(self._structure(fitted))))

    def _text(self, fitted: budget.Fitted[Rep]) -> str:
        parts = [quoting.IN_TEXT, self.tell(fitted.reply)]
        if fitted.left_out:
            parts.append(f"Left out to keep within {BUDGET}: {', '.join(fitted.left_out)}.")
        return "\n\n".join(part for part in parts if part)

    def _structure(self, fitted: budget.Fitted[Rep]) -> dict[str, Any]:
        told = quoting.seen(fitted.reply.model_dump(mode="json", exclude_defaults=True))
        return {"notice": quoting.IN_STRUCTURE, "left_out": list(fitted.left_out), **told}

    @property
    def _all_hidden(self) -> frozenset[str]:
        return self.hidden | {"deadline_ms"}

    @property
    def _suggestion(self) -> str:
        offered = sorted(self.request.model_fields.keys() - self._all_hidden)
        return f"arguments are {', '.join((*offered, BUDGET))}; their schema is in the tool's listing"


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
