"""Every setting, in one place: TOML file < systemd credentials < environment (``RECALLD_...``) < flags.

``config/recalld.toml`` is written from these declarations (``make config``), so the two cannot disagree.
Nested environment names use a double underscore: ``RECALLD_STORE__DSN``.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from recalld.bus.subjects import is_token
from recalld.model import Mode

Role = Literal["watch", "index", "serve", "schedule"]
ALL_ROLES: tuple[Role, ...] = ("watch", "index", "serve", "schedule")


def _node_name() -> str:
    name = socket.gethostname().split(".")[0]
    return "".join(c if c.isalnum() or c in "_-" else "-" for c in name)[:64] or "node"


def default_state_dir() -> Path:
    """Return ``$STATE_DIRECTORY`` under systemd, else ``$XDG_STATE_HOME/recalld`` (``~/.local/state/recalld``)."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    return Path(given) if given else platformdirs.user_state_path("recalld")


def default_cache_dir() -> Path:
    """Return ``$CACHE_DIRECTORY`` under systemd, else ``$XDG_CACHE_HOME/recalld`` (``~/.cache/recalld``)."""
    given = os.environ.get("CACHE_DIRECTORY", "").split(":")[0]
    return Path(given) if given else platformdirs.user_cache_path("recalld")


class Section(BaseModel):
    """Base of all sections: a typo is an error, and nothing changes after start."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class NodeSettings(Section):
    """Who this daemon is and where it keeps its state."""

    name: str = Field(default_factory=_node_name, description="name on the bus; letters, digits, - and _ (default: host)")
    roles: tuple[Role, ...] = Field(ALL_ROLES, description="what this daemon does: watch, index, serve, schedule")
    state_dir: Path = Field(
        default_factory=default_state_dir, description="databases, credentials, lock (default: $XDG_STATE_HOME/recalld)"
    )
    cache_dir: Path = Field(
        default_factory=default_cache_dir, description="model files, rebuilt when lost (default: $XDG_CACHE_HOME/recalld)"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least severity that is logged")
    log_format: Literal["text", "json"] = Field("text", description="one line of text, or one JSON object a line")

    @field_validator("name")
    @classmethod
    def _token(cls, value: str) -> str:
        if not is_token(value):
            raise ValueError("use 1 to 64 letters, digits, - and _")
        return value

    @field_validator("roles")
    @classmethod
    def _some_role(cls, value: tuple[Role, ...]) -> tuple[Role, ...]:
        if not value:
            raise ValueError(f"name at least one of {', '.join(ALL_ROLES)}")
        return tuple(dict.fromkeys(value))


class StoreSettings(Section):
    """Postgres. Without a dsn the daemon starts its own."""

    dsn: SecretStr | None = Field(None, description="postgresql://user:password@host/db; unset: the embedded server")
    read_dsn: SecretStr | None = Field(None, description="a replica for searches; unset: the same as dsn")
    pool_size: Annotated[int, Field(ge=2, le=100)] = Field(8, description="connections kept at most")
    statement_timeout_s: Annotated[float, Field(gt=0)] = Field(30.0, description="no query runs longer (seconds)")
    cached_embeddings: Annotated[int, Field(ge=0)] = Field(50_000, description="embedding cache rows kept by retention")
    tombstone_days: Annotated[int, Field(ge=1)] = Field(30, description="how long a deletion is remembered (days)")


class BusSettings(Section):
    """NATS. Without servers the daemon starts its own."""

    servers: tuple[str, ...] = Field((), description="nats://host:4222, ...; unset: the embedded server")
    user: str | None = Field(None, description="user name, when the server asks for one")
    password: SecretStr | None = Field(None, description="its password")
    credentials_file: Path | None = Field(None, description="a NATS .creds file instead of user and password")
    agent: str = Field("cli", description="the name that this client's requests carry; letters, digits, - and _")
    replicas: Annotated[int, Field(ge=1, le=5)] = Field(1, description="copies of each stream in a NATS cluster")
    max_request_bytes: Annotated[int, Field(ge=1_024)] = Field(65_536, description="larger requests are refused (bytes)")
    max_in_flight: Annotated[int, Field(ge=1)] = Field(32, description="requests answered at once; more get 'busy'")
    deadline_s: Annotated[float, Field(gt=0)] = Field(30.0, description="a request's deadline when it names none (seconds)")
    drain_s: Annotated[float, Field(ge=0)] = Field(5.0, description="how long a stop waits for requests in flight (seconds)")

    @field_validator("agent")
    @classmethod
    def _token(cls, value: str) -> str:
        if not is_token(value):
            raise ValueError("use 1 to 64 letters, digits, - and _")
        return value


class RepoSettings(Section):
    """A memory repo to watch, named in the file instead of by ``recall repo add``."""

    path: Path = Field(description="the directory")
    name: str | None = Field(None, description="its name (default: the directory's)")
    include: tuple[str, ...] = Field((), description="gitignore-syntax patterns; unset: everything not excluded")
    exclude: tuple[str, ...] = Field((), description="gitignore-syntax patterns beside the built-in ones")
    read_only: bool = Field(False, description="recalld never creates files here")
    visible_to: tuple[str, ...] = Field((), description="agents that may search it; unset: all")


class WatchSettings(Section):
    """How files are seen to change."""

    mode: Literal["auto", "events", "poll"] = Field("auto", description="auto falls back to polling when events fail")
    scan_interval_s: Annotated[float, Field(gt=0)] = Field(300.0, description="full compare of disk and index (seconds)")
    poll_interval_s: Annotated[float, Field(gt=0)] = Field(2.0, description="how often polling looks (seconds)")
    debounce_ms: Annotated[int, Field(ge=1)] = Field(400, description="longest wait for a batch of events to end (ms)")
    step_ms: Annotated[int, Field(ge=1)] = Field(30, description="a batch ends when this long nothing happens (ms)")
    storm_paths: Annotated[int, Field(ge=1)] = Field(200, description="more changed paths than this mean: scan instead")
    git_lock_s: Annotated[float, Field(ge=0)] = Field(10.0, description="longest wait for .git/index.lock to go (seconds)")
    max_file_bytes: Annotated[int, Field(ge=1)] = Field(8_388_608, description="larger files are skipped, visibly (bytes)")
    prune_share: Annotated[float, Field(gt=0, le=1)] = Field(0.5, description="a scan that drops this share stops and asks")
    concurrency: Annotated[int, Field(ge=1)] = Field(16, description="files read and published at once")


class IngestSettings(Section):
    """From bytes to chunks."""

    policy: Literal["sections", "sentences", "fixed"] = Field("sections", description="how documents are cut")
    chunk_tokens: Annotated[int, Field(ge=32)] = Field(200, description="a chunk's size, heading included (tokens)")
    overlap_tokens: Annotated[int, Field(ge=0)] = Field(30, description="repeated between sentence or fixed chunks (tokens)")
    batch: Annotated[int, Field(ge=1)] = Field(32, description="documents taken from the queue at once")
    ack_wait_s: Annotated[float, Field(ge=1)] = Field(60.0, description="a worker silent for this long has died (seconds)")
    max_deliver: Annotated[int, Field(ge=5)] = Field(6, description="tries before a file is set aside with a finding")


class EmbedSettings(Section):
    """What turns text into vectors."""

    model: str = Field("minilm", description="minilm (packaged), hashing, any fastembed model, or a plugin (openai, voyage)")
    runtime: Literal["auto", "onnx", "openvino"] = Field("auto", description="auto takes OpenVINO where it is installed")
    threads: Annotated[int, Field(ge=0)] = Field(0, description="inference threads; 0: one a core")
    batch_tokens: Annotated[int, Field(ge=64)] = Field(4_096, description="tokens in one inference batch, padding included")
    local_files_only: bool = Field(False, description="never download a model")
    options: dict[str, Any] = Field(default_factory=dict, description="passed to the embedder plugin as they are")


class RecallSettings(Section):
    """How a query finds its hits."""

    mode: Mode = Field(Mode.RERANK, description="dense, lexical, hybrid or rerank, unless the request says")
    candidates: Annotated[int, Field(ge=1, le=1_000)] = Field(50, description="taken from each leg")
    rrf_k: Annotated[int, Field(ge=1)] = Field(60, description="reciprocal rank fusion constant")
    rerank: Annotated[int, Field(ge=1, le=1_000)] = Field(50, description="fused candidates that are reranked")
    pool_share: Annotated[float, Field(ge=0, le=1)] = Field(0.3, description="weight of a document's next two chunks")
    per_document: Annotated[int, Field(ge=1)] = Field(2, description="hits of one document at most")


class ScheduleSettings(Section):
    """What runs by the clock."""

    retention: str = Field("30 3 * * *", description="crontab (UTC) of the clean-up of tombstones and caches; empty: never")


SECTIONS: dict[str, type[Section]] = {
    "node": NodeSettings,
    "store": StoreSettings,
    "bus": BusSettings,
    "watch": WatchSettings,
    "ingest": IngestSettings,
    "embed": EmbedSettings,
    "recall": RecallSettings,
    "schedule": ScheduleSettings,
}


class Settings(Section):
    """The effective settings of one process."""

    node: NodeSettings = Field(default_factory=NodeSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    bus: BusSettings = Field(default_factory=BusSettings)
    watch: WatchSettings = Field(default_factory=WatchSettings)
    ingest: IngestSettings = Field(default_factory=IngestSettings)
    embed: EmbedSettings = Field(default_factory=EmbedSettings)
    recall: RecallSettings = Field(default_factory=RecallSettings)
    schedule: ScheduleSettings = Field(default_factory=ScheduleSettings)
    repos: tuple[RepoSettings, ...] = ()
