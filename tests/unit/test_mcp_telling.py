"""What tools say: quoted whatever it is, within its budget however much there is, of the shape that was promised."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from recalld.bus.client import RecallClient
from recalld.errors import UsageError
from recalld_plugins.mcp import budget, quoting
from recalld_plugins.mcp.declare import Memory, Tool
from recalld_plugins.mcp.tools import SEARCH, TOOLS
from tests.support.mcp import unquoted

ANYTHING = st.text(st.characters(), max_size=200)
AT = datetime(2026, 1, 1, tzinfo=UTC)


@given(ANYTHING)
def test_no_text_leaves_its_quotes(text: str) -> None:
    lines = quoting.quoted(text).splitlines()
    assert all(line.startswith("| ") for line in lines)
    assert unquoted(f"{quoting.name(text)}").strip('"') == ""
    assert len(quoting.name(text).splitlines()) == 1


@given(ANYTHING)
def test_what_is_seen_stays_and_the_rest_is_marked(text: str) -> None:
    shown = quoting.visible(text)
    assert quoting.visible(shown.encode().decode()) == shown
    if text.isprintable() and text.isascii():
        assert shown == text


OWN_WORDS = ("id", "code", "state", "node", "verdict", "happened", "receipt")
"""Fields that the daemon fills with words of its own, and no file does."""


def huge(annotation: Any, field: str = "") -> Any:
    """A value of a type with many of all, and long."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return huge(arguments[0], field)
    if origin in (Union, UnionType):
        return huge(arguments[0], field)
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        many = 15 if arguments[-1] is Ellipsis else len(arguments)
        return tuple(huge(arguments[0], field) for _ in range(many))
    if origin is dict:
        return {str(number): huge(arguments[1], field) for number in range(5)}
    if annotation is Any:
        return "a word of it, " * 14
    if issubclass(annotation, BaseModel):
        return annotation.model_construct(
            **{name: huge(each.annotation, name) for name, each in annotation.model_fields.items()}
        )
    if issubclass(annotation, str) and annotation is not str:
        return next(iter(annotation))
    if annotation is str and field in OWN_WORDS:
        return "word"
    long = 5_000 if field in ("text", "message", "check", "query") else 200
    values: dict[type, Any] = {str: "a word of it, " * (long // 14), datetime: AT, bool: True, int: 10**9, float: 0.5}
    return values[annotation]


async def answered(tool: Tool[Any, Any], reply: Any, allowed: int) -> tuple[str, dict[str, Any]]:
    async def ask(memory: Memory, request: Any) -> Any:
        return reply

    async def progress(done: float, total: float | None, message: str) -> None: ...

    given_reply = Tool(**{**{name: getattr(tool, name) for name in Tool.__dataclass_fields__}, "ask": ask})
    memory = Memory(RecallClient("nats://127.0.0.1:1"), "node", progress)
    return await given_reply.answer(memory, None, allowed)


@pytest.mark.parametrize("allowed", [budget.LEAST, 6_000])
@pytest.mark.parametrize("name", TOOLS)
async def test_the_largest_reply_is_cut_to_its_budget(name: str, allowed: int) -> None:
    tool = TOOLS[name]
    whole = huge(tool.reply)
    text, told = await answered(tool, whole, allowed)
    structure = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    assert budget.tokens(text) <= allowed and budget.tokens(structure) <= allowed
    assert all(words in text for words in told["left_out"])
    jsonschema.validate(told, tool.output_schema(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize("name", TOOLS)
async def test_what_fits_is_told_whole(name: str) -> None:
    tool = TOOLS[name]
    whole = huge(tool.reply)
    text, told = await answered(tool, whole, 10**9)
    assert told["left_out"] == [] and "Left out" not in text
    assert "a word of it" not in unquoted(text)


@pytest.mark.parametrize("name", TOOLS)
def test_each_argument_is_one_of_the_request(name: str) -> None:
    tool = TOOLS[name]
    known = tool.request.model_fields.keys()
    assert tool.arguments.keys() | tool.hidden | {"deadline_ms"} == known
    schema = tool.input_schema()
    assert schema["properties"].keys() == tool.arguments.keys() | {"max_tokens"}


def test_of_a_reply_no_more_is_cut_than_must_be() -> None:
    class Few(budget.wire.Reply):
        items: tuple[int, ...]

    whole = Few(items=tuple(range(10)))
    fitted = budget.fit(whole, [budget.items("items")], lambda fitted: sum(fitted.reply.items) <= 10)
    assert fitted.reply.items == (0, 1, 2, 3, 4)
    assert fitted.left_out == ("5 of 10 items",)
    assert budget.fit(whole, [budget.items("items", least=8)], lambda _: False).reply.items == tuple(range(8))
    assert budget.fit(whole, [budget.items("items")], lambda _: True) == budget.Fitted(whole)


def test_the_estimate_grows_with_the_text() -> None:
    prose = "The broker was left because it lost messages under load. " * 100
    assert len(prose) / 5.5 <= budget.tokens(prose) <= len(prose) / 3
    assert budget.tokens("港" * 100) == 100
    assert budget.tokens("0123456789abcdef" * 4) >= 16


def test_wrong_arguments_are_named() -> None:
    request, allowed = SEARCH.read({"query": "x", "k": 3}, 6_000)
    assert (request.query, request.k, allowed) == ("x", 3, 6_000)
    with pytest.raises(UsageError, match="repo: Input should be a valid array"):
        SEARCH.read({"query": "x", "repo": "memory"}, 6_000)
    with pytest.raises(UsageError, match="there is no argument receipt"):
        SEARCH.read({"query": "x", "receipt": False}, 6_000)
