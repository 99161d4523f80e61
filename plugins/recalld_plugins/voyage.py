"""Embeddings from Voyage AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recalld_plugins.options import check_options
from recalld_plugins.remote import read_key
from recalld_plugins.remote_embedder import Remote, RemoteEmbedder

OPTIONS = ("model", "base_url", "key", "key_file", "dimensions", "token_limit", "batch", "timeout_s")


async def embedder(options: Mapping[str, Any]) -> RemoteEmbedder:
    """Return an embedder; ``options`` are ``embed.options`` of the settings.

    ``model`` (voyage-3.5), ``base_url`` (https://api.voyageai.com/v1), ``key`` or ``key_file`` (else the credential
    ``voyage`` or VOYAGE_API_KEY), ``dimensions``, ``token_limit`` (32000), ``batch`` (64), ``timeout_s`` (30). The
    provider never cuts a text: a too long one is an error. Raises ConfigError, DependencyError.
    """
    check_options("voyage", options, OPTIONS)
    model = str(options.get("model", "voyage-3.5"))
    base = str(options.get("base_url", "https://api.voyageai.com/v1")).rstrip("/")
    dimensions = options.get("dimensions")

    def body(texts: Sequence[str], query: bool) -> Mapping[str, Any]:
        extra = {"output_dimension": int(dimensions)} if dimensions is not None else {}
        kind = "query" if query else "document"
        return {"model": model, "input": list(texts), "input_type": kind, "truncation": False, **extra}

    return await RemoteEmbedder.connect(
        Remote(
            name="voyage",
            model=model,
            url=f"{base}/embeddings",
            key=read_key(options, "voyage", "VOYAGE_API_KEY"),
            body=body,
            token_limit=int(options.get("token_limit", 32_000)),
            batch=int(options.get("batch", 64)),
            timeout_s=float(options.get("timeout_s", 30)),
        )
    )
