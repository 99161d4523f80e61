"""The openai and voyage plugins against a local server that speaks their protocol."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recalld.embed.factory import make_embedder
from recalld.errors import ConfigError, DependencyError
from recalld.settings import EmbedSettings
from recalld_plugins import remote, remote_embedder
from tests.support.embeddings_api import Api, embeddings_api, good


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BACKOFF_S", 0.001)


async def make(api: Api, plugin: str = "openai", **options: Any) -> remote_embedder.RemoteEmbedder:
    settings = EmbedSettings(model=plugin, options={"base_url": api.url, "key": "sk-secret", **options})
    made = await make_embedder(settings, Path("/nonexistent"))
    assert isinstance(made, remote_embedder.RemoteEmbedder)
    return made


async def test_vectors_come_in_order_and_at_unit_length() -> None:
    with embeddings_api() as api:
        embedder = await make(api, batch=2)
        made = await embedder.embed_documents(["a", "bb", "ccc"])
        assert embedder.dimension == 8
        assert [len(body["input"]) for body in api.requests] == [1, 2, 1]
        for text, chunk in zip(["a", "bb", "ccc"], made, strict=True):
            wanted = np.array([(len(text) + axis) % 5 + 1 for axis in range(8)], np.float32)
            assert np.allclose(chunk.pooled, wanted / np.linalg.norm(wanted))
            assert chunk.bits is None
        assert set(api.keys) == {"Bearer sk-secret"}
        await embedder.aclose()


async def test_voyage_tells_queries_from_documents_and_never_cuts() -> None:
    with embeddings_api() as api:
        embedder = await make(api, "voyage", dimensions=8)
        await embedder.embed_documents(["text"])
        await embedder.embed_query("question")
        assert [body["input_type"] for body in api.requests] == ["query", "document", "query"]
        assert all(body["truncation"] is False and body["output_dimension"] == 8 for body in api.requests)
        await embedder.aclose()


@pytest.mark.parametrize("status", [429, 500, 503, 0])
async def test_trouble_that_passes_is_waited_out(status: int) -> None:
    def respond(number: int, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        return good(number, body) if number % 3 == 0 else (status, {"Retry-After": "0.001"}, b"later")

    with embeddings_api(respond) as api:
        embedder = await make(api)
        assert len(await embedder.embed_documents(["text"])) == 1
        await embedder.aclose()


@pytest.mark.parametrize(
    ("respond", "said"),
    [
        (lambda number, body: (500, {}, b"broken"), "HTTP 500"),
        (lambda number, body: (200, {}, b"<html>"), "a reply that is none"),
        (lambda number, body: (200, {}, json.dumps({"data": []}).encode()), "0 vectors for 1 texts"),
        (lambda number, body: (400, {}, b"sk-secret is no good"), "HTTP 400: \\*+ is no good"),
    ],
)
async def test_trouble_that_stays_is_named(respond: Any, said: str) -> None:
    with embeddings_api(respond) as api, pytest.raises(DependencyError, match=said):
        await make(api)


async def test_a_changed_dimension_is_noticed() -> None:
    with embeddings_api() as api:
        embedder = await make(api)
        api.respond = lambda number, body: good(number, body, dimension=9)
        with pytest.raises(DependencyError, match="instead of 8"):
            await embedder.embed_query("x")
        await embedder.aclose()


@pytest.mark.parametrize(("status", "said"), [(401, "refuses the key"), (404, "knows no model")])
async def test_wrong_settings_are_the_settings_fault(status: int, said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with embeddings_api(lambda number, body: (status, {}, b"no")) as api, pytest.raises(ConfigError, match=said):
        await make(api)
    assert "sk-secret" not in caplog.text


async def test_a_server_that_is_slow_is_not_waited_for() -> None:
    import threading

    release = threading.Event()

    def slow(number: int, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        release.wait(10)
        return good(number, body)

    with embeddings_api(slow) as api:
        try:
            with pytest.raises(DependencyError, match="ReadTimeout"):
                await make(api, timeout_s=0.02)
        finally:
            release.set()


async def test_keys_and_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    with pytest.raises(ConfigError, match="no key for openai"):
        remote.read_key({}, "openai", "OPENAI_API_KEY")
    (tmp_path / "openai").write_text("from-credential\n")
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert remote.read_key({}, "openai", "OPENAI_API_KEY") == "from-environment"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert remote.read_key({}, "openai", "OPENAI_API_KEY") == "from-credential"
    with embeddings_api() as api, pytest.raises(ConfigError, match="colour"):
        await make(api, colour="red")


async def test_a_passage_that_may_be_too_long_is_refused_not_cut() -> None:
    with embeddings_api() as api:
        embedder = await make(api, token_limit=10)
        with pytest.raises(ValueError, match="10 tokens"):
            await embedder.embed_documents(["word " * 20])
        await embedder.aclose()
