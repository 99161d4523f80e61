"""The openai answerer against a local server that speaks its protocol, well and badly."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import anyio
import pytest

from recalld.embed.minilm import packaged_tokenizer
from recalld.episodes.answerer import Completion, Prompt
from recalld.errors import ConfigError, DependencyError
from recalld_plugins import remote
from recalld_plugins.chat_stream import LONGEST_LINE, Events, Reply, ReplyError
from recalld_plugins.openai_answerer import OpenAIAnswerer, answerer
from tests.support.chat_api import (
    ChatApi,
    Line,
    Request,
    chat_api,
    endless,
    hanging_up,
    in_turn,
    raw,
    saying,
    stalling,
)

KEY = "sk-quite-secret-0123"
ASKED = Prompt("Answer from passages.", "Passages:\n\n[1] a.md\nThe wall is red.\n\nQuestion: what colour?", 50)
GOOD = "The wall is red [1]."


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)
    for name in ("OPENAI_API_KEY", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)


def make(api: ChatApi, **options: Any) -> OpenAIAnswerer:
    return answerer({"model": "small", "base_url": api.url, "key": KEY, **options})


async def complete(api: ChatApi, said: list[str] | None = None, **options: Any) -> Completion:
    model = make(api, **options)

    async def say(words: str) -> None:
        if said is not None:
            said.append(words)

    try:
        return await model.complete(ASKED, say if said is not None else None)
    finally:
        await model.aclose()


async def test_words_come_as_they_are_written_and_the_reply_says_what_it_took() -> None:
    said: list[str] = []
    with chat_api(saying(GOOD)) as api:
        made = await complete(api, said)
    assert made == Completion(GOOD, True, 321)
    assert said == ["The", " wall", " is", " red", " [1]."]
    [request] = api.requests
    assert request.body == {
        "model": "small",
        "messages": [{"role": "system", "content": ASKED.system}, {"role": "user", "content": ASKED.user}],
        "max_tokens": 50,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert request.headers["path"] == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"


async def test_options_reach_the_server() -> None:
    options = {"token_limit": 9, "limit_field": "max_completion_tokens", "temperature": "default"}
    with chat_api(saying(GOOD)) as api:
        await complete(api, headers={"X-Title": "recalld"}, **options)
    [request] = api.requests
    assert request.headers["X-Title"] == "recalld"
    assert request.body["max_completion_tokens"] == 9
    assert not {"max_tokens", "temperature"} & request.body.keys()


async def test_nothing_is_asked_before_there_is_a_question() -> None:
    model = answerer({"model": "small", "base_url": "http://127.0.0.1:9/v1"})
    assert model.name == "openai:small@127.0.0.1:9/v1"
    await model.aclose()


@pytest.mark.parametrize("usage", [None, 0, -5, True, "many", 10**30, 1.5])
async def test_a_usage_that_is_none_is_counted(usage: Any) -> None:
    def respond(request: Request, line: Line) -> None:
        line.head()
        line.words(GOOD)
        line.event(choices=[], usage={"total_tokens": usage} if usage is not None else None)
        line.end(tokens=None)

    with chat_api(respond) as api:
        made = await complete(api)
        model = make(api)
        assert made.tokens == sum(model.count_tokens([ASKED.system, ASKED.user, GOOD]))
        await model.aclose()


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_what_was_cut_off_is_not_finished(reason: str) -> None:
    with chat_api(saying("The wall is", reason)) as api:
        made = await complete(api)
    assert (made.text, made.finished) == ("The wall is", False)


async def test_a_reply_that_never_says_why_it_ended_is_not_finished() -> None:
    said = json.dumps({"choices": [{"delta": {"content": "The wall"}}]})
    with chat_api(raw(f"data: {said}\n\ndata: [DONE]\n\n")) as api:
        assert not (await complete(api)).finished


async def test_thoughts_are_no_part_of_an_answer() -> None:
    said: list[str] = []
    with chat_api(saying(f"<think>Is it blue [7]? No. </think>\n\n{GOOD}")) as api:
        assert (await complete(api, said)).text == GOOD
    assert "".join(said) == GOOD


async def test_comments_line_ends_and_events_without_a_last_blank_line_are_taken() -> None:
    first = json.dumps({"choices": [{"delta": {"role": "assistant", "content": None}}]})
    second = json.dumps({"choices": [{"delta": {"content": GOOD}, "finish_reason": "stop"}]})
    with chat_api(raw(f": WORKING\r\n\r\ndata:{first}\r\n\r\nid: 3\r\ndata: {second}\r\n\r\ndata: [DONE]")) as api:
        assert await complete(api) == Completion(GOOD, True, (await complete(api)).tokens)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 0])
async def test_trouble_that_passes_is_waited_out(status: int) -> None:
    trouble = hanging_up if status == 0 else raw("later", status, Retry_After="0.001")
    said: list[str] = []
    with chat_api(in_turn(trouble, trouble, saying(GOOD))) as api:
        assert (await complete(api, said)).text == GOOD
    assert len(api.requests) == 3
    assert "".join(said) == GOOD


async def test_an_error_in_a_stream_that_passes_is_waited_out() -> None:
    busy = raw(f"data: {json.dumps({'error': {'code': 429, 'message': 'busy'}})}\n\n")
    with chat_api(in_turn(busy, saying(GOOD))) as api:
        assert (await complete(api)).text == GOOD


async def test_a_server_is_left_alone_for_as_long_as_it_wants() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    with chat_api(in_turn(raw("", 429, Retry_After="7"), raw("", 503), saying(GOOD))) as api:
        model = make(api)
        model._sleep = sleep
        assert (await model.complete(ASKED)).text == GOOD
        await model.aclose()
    assert waited == [7.0, 0.002]


async def test_who_wants_to_be_left_alone_for_too_long_is_not_waited_for() -> None:
    with chat_api(raw("", 429, Retry_After="3600")) as api, pytest.raises(DependencyError, match="HTTP 429"):
        await complete(api, timeout_s=5)
    assert len(api.requests) == 1


async def test_nothing_is_tried_again_once_a_word_was_passed_on() -> None:
    def breaks(request: Request, line: Line) -> None:
        line.head(Content_Length="100000")
        line.words("The wall")

    said: list[str] = []
    with chat_api(breaks) as api, pytest.raises(DependencyError, match="breaks off: RemoteProtocolError"):
        await complete(api, said)
    assert (said, len(api.requests)) == (["The wall"], 1)


def chunk(**choice: Any) -> str:
    return f"data: {json.dumps({'choices': [choice]})}\n\n"


LIES = {
    "no JSON": ('data: {"choices": [{"del\n\n', "an event that is no JSON"),
    "deep JSON": (f"data: {'[' * 100_000}\n\n", "no JSON|where an object belongs"),
    "a list": ("data: [1]\n\n", "list where an object belongs"),
    "choices that are none": ('data: {"choices": {"a": 1}}\n\n', "choices that are none"),
    "a choice that is none": ('data: {"choices": ["a"]}\n\n', "str where an object belongs"),
    "a delta that is none": ('data: {"choices": [{"delta": "a"}]}\n\n', "str where an object belongs"),
    "words that are none": (chunk(delta={"content": 7}), "words that are none"),
    "a reason that is none": (chunk(delta={}, finish_reason=7), "words that are none"),
    "no choices": ('data: {"choices": []}\n\ndata: [DONE]\n\n', "without choices"),
    "nothing": ("", "without an end"),
    "no end": (chunk(delta={"content": GOOD}, finish_reason="stop"), "without an end"),
    "HTML": ("<!doctype html><html><body>Welcome to the proxy</body></html>", "without an end .text/html"),
    "an error": ('data: {"error": {"message": "no credit for ' + KEY + '"}}\n\n', r"an error: no credit for \*+$"),
    "an error in a word": ('data: {"error": "overloaded"}\n\n', "an error: overloaded"),
}


@pytest.mark.parametrize("lie", LIES)
async def test_what_is_no_reply_is_named(lie: str) -> None:
    body, named = LIES[lie]
    kind = "text/html" if lie == "HTML" else "text/event-stream"
    with chat_api(raw(body, kind=kind)) as api, pytest.raises(DependencyError, match=named):
        await complete(api)
    assert len(api.requests) == 1


async def test_a_text_without_end_is_left() -> None:
    with chat_api(endless()) as api:
        with pytest.raises(DependencyError, match="writes on and on: over 3000 characters"):
            await complete(api)
        assert await anyio.to_thread.run_sync(api.requests[0].closed.wait, 10)


def test_streams_and_lines_without_end_are_left() -> None:
    with pytest.raises(ReplyError, match="a line that does not end"):
        Events().feed(b"x" * (LONGEST_LINE + 1))
    events = Events()
    with pytest.raises(ReplyError, match="a stream that does not end"):
        for _ in range(17):
            events.feed(b":" + b"x" * (LONGEST_LINE - 2) + b"\n")
    with pytest.raises(ReplyError, match="no text"):
        Events().feed(b"data: \xff\xfe\n")
    assert Reply(10).take('{"choices": [{"delta": {"content": "ten"}}]}') == "ten"


async def test_a_server_that_falls_silent_is_left() -> None:
    said: list[str] = []
    with chat_api(stalling("The", " wall")) as api:
        with pytest.raises(DependencyError, match=r"said nothing for 0\.1 s"):
            await complete(api, said, idle_timeout_s=0.1)
        assert await anyio.to_thread.run_sync(api.requests[0].closed.wait, 10)
    assert said == ["The", " wall"]


async def test_an_answer_has_its_time_however_lively_the_server_is() -> None:
    def busy(request: Request, line: Line) -> None:
        line.head()
        while line.write(": still at it\n\n"):
            pass

    with chat_api(busy) as api, pytest.raises(DependencyError, match=r"did not finish within 0\.2 s"):
        await complete(api, timeout_s=0.2)


async def test_who_goes_away_ends_the_request() -> None:
    with chat_api(stalling("The")) as api:
        model = make(api)
        with anyio.CancelScope() as scope:

            async def say(words: str) -> None:
                scope.cancel()

            await model.complete(ASKED, say)
        assert await anyio.to_thread.run_sync(api.requests[0].closed.wait, 10)
        await model.aclose()


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (401, ConfigError, "refuses the key"),
        (403, ConfigError, "refuses the key"),
        (404, ConfigError, "knows no model small"),
        (400, DependencyError, "HTTP 400: \\*+ is wrong"),
        (302, DependencyError, "HTTP 302"),
        (500, DependencyError, "does not answer: HTTP 500"),
    ],
)
async def test_refusals_are_named_and_no_key_is_shown(
    status: int, error: type[Exception], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    headers = {"api-key": "header-secret-77"}
    with chat_api(raw(f"{KEY} is wrong, header-secret-77 {'x' * 5_000}", status)) as api:
        with pytest.raises(error, match=said) as caught:
            await complete(api, headers=headers)
        model = make(api, headers=headers)
        shown = f"{caught.value!r} {caught.value} {caplog.text} {model!r} {model._chat!r} {model.name}"
        assert KEY not in shown
        assert "header-secret-77" not in shown
        await model.aclose()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": ""}, "model is not set"),
        ({"colour": "red"}, "colour"),
        ({"base_url": "ftp://here/v1"}, "no web address"),
        ({"base_url": "here"}, "no web address"),
        ({"base_url": "http://:x/"}, "base_url"),
        ({"base_url": "https://me:pass@here.example/v1"}, "more than host"),
        ({"base_url": "http://models.example.org/v1", "key": KEY}, "in the clear"),
        ({"base_url": "https://models.example.org/v1"}, "no key for openai"),
        ({"key": "two\nlines"}, "no HTTP header can carry"),
        ({"key": "schlüssel"}, "no HTTP header can carry"),
        ({"key_file": "/nonexistent/key"}, "cannot be read"),
        ({"keyless": "yes"}, "keyless is 'yes'"),
        ({"headers": "X: y"}, "headers is no table"),
        ({"headers": {"X Y": "z"}}, "no name of a header"),
        ({"headers": {"X": "a\r\nB: c"}}, "no HTTP header can carry"),
        ({"temperature": "hot"}, "temperature is no number"),
        ({"temperature": 9}, "temperature is 9"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"idle_timeout_s": float("nan")}, "idle_timeout_s is nan"),
        ({"token_limit": 0}, "token_limit is 0"),
        ({"limit_field": "most"}, "limit_field is most"),
        ({"tokenizer": "/nonexistent/tokenizer.json"}, "cannot be read"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        answerer({"model": "small", "base_url": "http://localhost:1/v1", **options})
    assert not {"two", "schlüssel", "pass"} & set(str(caught.value).replace(":", " ").replace("@", " ").split())


@pytest.mark.parametrize(
    "base",
    ["http://localhost:1/v1", "http://[::1]:1/v1", "http://10.1.2.3/v1", "http://ollama:1/v1", "http://gpu.lan/v1"],
)
async def test_servers_nearby_need_no_key(base: str) -> None:
    await answerer({"model": "small", "base_url": base}).aclose()


async def test_no_key_is_sent_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with chat_api(saying(GOOD)) as api:
        await complete(api, key="", keyless=True)
        await complete(api, key="")
    assert [request.headers.get("Authorization") for request in api.requests] == [None, f"Bearer {KEY}"]


async def test_the_key_comes_from_a_file_or_a_credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").write_text("from-file\n")
    (tmp_path / "openai").write_text("from-credential\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with chat_api(saying(GOOD)) as api:
        await complete(api, key="", key_file=str(tmp_path / "mine"))
        await complete(api, key="")
    assert [request.headers["Authorization"] for request in api.requests] == [
        "Bearer from-file",
        "Bearer from-credential",
    ]


async def test_tokens_are_those_of_the_models_own_tokenizer(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    own = packaged_tokenizer()
    own.no_truncation()
    file.write_text(own.to_str())
    text = "antidisestablishmentarianism " * 300
    with chat_api() as api:
        exact, estimate = make(api, tokenizer=str(file)), make(api)
        [counted], [estimated] = exact.count_tokens([text]), estimate.count_tokens([text])
        assert counted == len(own.encode(text)) + 1
        assert estimated > 1.2 * counted
        await exact.aclose()
        await estimate.aclose()
    file.write_text("{}")
    with pytest.raises(ConfigError, match="is no tokenizer"):
        answerer({"model": "small", "base_url": "http://localhost:1/v1", "tokenizer": str(file)})
