"""Embeddings from OpenAI or anything that speaks its ``/v1/embeddings`` (Ollama, vLLM, LM Studio, ...)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recalld_plugins.options import check_options
from recalld_plugins.remote import read_key
from recalld_plugins.remote_embedder import Remote, RemoteEmbedder

OPTIONS = ("model", "base_url", "key", "key_file", "dimensions", "token_limit", "batch", "timeout_s")


async def embedder(options: Mapping[str, Any]) -> RemoteEmbedder:
    """Return an embedder; ``options`` are ``embed.options`` of the settings.

    ``model`` (text-embedding-3-small), ``base_url`` (https://api.openai.com/v1), ``key`` or ``key_file`` (else the
    credential ``openai`` or OPENAI_API_KEY; a local server without keys takes any), ``dimensions``, ``token_limit``
    (8191), ``batch`` (64), ``timeout_s`` (30). Raises ConfigError, DependencyError.
    """
    check_options("openai", options, OPTIONS)
    model = str(options.get("model", "text-embedding-3-small"))
    base = str(options.get("base_url", "https://api.openai.com/v1")).rstrip("/")
    dimensions = options.get("dimensions")

    def body(texts: Sequence[str], query: bool) -> Mapping[str, Any]:
        extra = {"dimensions": int(dimensions)} if dimensions is not None else {}
        return {"model": model, "input": list(texts), "encoding_format": "float", **extra}

    return await RemoteEmbedder.connect(
        Remote(
            name="openai",
            model=model,
            url=f"{base}/embeddings",
            key=read_key(options, "openai", "OPENAI_API_KEY"),
            body=body,
            token_limit=int(options.get("token_limit", 8191)),
            batch=int(options.get("batch", 64)),
            timeout_s=float(options.get("timeout_s", 30)),
        )
    )
