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
from pydantic import BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from recalld.bus.subjects import is_token
from recalld.model import Mode
from recalld.section import Section, Words, table, words
from recalld.settings_of_work import AskSettings as AskSettings
from recalld.settings_of_work import JobSettings as JobSettings
from recalld.settings_of_work import LessonSettings as LessonSettings
from recalld.settings_of_work import McpSettings as McpSettings
from recalld.settings_of_work import PutSettings as PutSettings
from recalld.settings_of_work import ScheduleSettings as ScheduleSettings
from recalld.settings_of_work import TracingSettings as TracingSettings

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


class NodeSettings(Section):
    """Who this daemon is and where it keeps its state."""

    name: str = Field(default_factory=_node_name)
    """Name on the bus; letters, digits, - and _ (default: host)."""
    roles: Annotated[tuple[Role, ...], BeforeValidator(words)] = ALL_ROLES
    """What this daemon does: watch, index, serve, schedule."""
    state_dir: Path = Field(default_factory=default_state_dir)
    """Databases, credentials, lock (default: $XDG_STATE_HOME/recalld)."""
    cache_dir: Path = Field(default_factory=default_cache_dir)
    """Model files, rebuilt when lost (default: $XDG_CACHE_HOME/recalld)."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least severity that is logged."""
    log_format: Literal["text", "json"] = "text"
    """One line of text, or one JSON object a line."""

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

    dsn: SecretStr | None = None
    """As postgresql://user:password@host/db; unset: the embedded server."""
    read_dsn: SecretStr | None = None
    """A replica for searches; unset: the same as dsn."""
    pool_size: Annotated[int, Field(ge=2, le=100)] = 8
    """Connections kept at most."""
    statement_timeout_s: Annotated[float, Field(gt=0)] = 30.0
    """No query runs longer (seconds)."""
    cached_embeddings: Annotated[int, Field(ge=0)] = 50_000
    """Embedding cache rows kept by retention."""
    tombstone_days: Annotated[int, Field(ge=1)] = 30
    """How long a deletion is remembered (days)."""


class BusSettings(Section):
    """NATS. Without servers the daemon starts its own."""

    servers: Words = ()
    """As nats://host:4222, ...; unset: the embedded server."""
    user: str | None = None
    """User name, when the server asks for one."""
    password: SecretStr | None = None
    """Its password."""
    credentials_file: Path | None = None
    """A NATS .creds file instead of user and password."""
    agent: str = "cli"
    """The name that this client's requests carry; letters, digits, - and _."""
    replicas: Annotated[int, Field(ge=1, le=5)] = 1
    """Copies of each stream in a NATS cluster."""
    max_request_bytes: Annotated[int, Field(ge=1_024)] = 65_536
    """Larger requests are refused (bytes)."""
    max_in_flight: Annotated[int, Field(ge=1)] = 32
    """Requests answered at once; more get 'busy'."""
    deadline_s: Annotated[float, Field(gt=0)] = 30.0
    """A request's deadline when it names none (seconds)."""
    drain_s: Annotated[float, Field(ge=0)] = 5.0
    """How long a stop waits for requests in flight (seconds)."""

    @field_validator("agent")
    @classmethod
    def _token(cls, value: str) -> str:
        if not is_token(value):
            raise ValueError("use 1 to 64 letters, digits, - and _")
        return value


class RepoSettings(Section):
    """A memory repo to watch, named in the file instead of by ``recall repo add``."""

    path: Path
    """The directory."""
    name: str | None = None
    """Its name (default: the directory's)."""
    include: Words = ()
    """Gitignore-syntax patterns; unset: everything not excluded."""
    exclude: Words = ()
    """Gitignore-syntax patterns beside the built-in ones."""
    read_only: bool = False
    """Recalld never creates files here."""
    visible_to: Words = ()
    """Agents that may search it; unset: all."""


class WatchSettings(Section):
    """How files are seen to change."""

    mode: Literal["auto", "events", "poll"] = "auto"
    """Auto falls back to polling when events fail."""
    scan_interval_s: Annotated[float, Field(gt=0)] = 300.0
    """Full compare of disk and index (seconds)."""
    poll_interval_s: Annotated[float, Field(gt=0)] = 2.0
    """How often polling looks (seconds)."""
    debounce_ms: Annotated[int, Field(ge=1)] = 400
    """Longest wait for a batch of events to end (ms)."""
    step_ms: Annotated[int, Field(ge=1)] = 30
    """A batch ends when this long nothing happens (ms)."""
    storm_paths: Annotated[int, Field(ge=1)] = 200
    """More changed paths than this mean: scan instead."""
    git_lock_s: Annotated[float, Field(ge=0)] = 10.0
    """Longest wait for .git/index.lock to go (seconds)."""
    max_file_bytes: Annotated[int, Field(ge=1)] = 8_388_608
    """Larger files are skipped, visibly (bytes)."""
    prune_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """A scan that drops this share stops and asks."""
    concurrency: Annotated[int, Field(ge=1)] = 16
    """Files read and published at once."""


class IngestSettings(Section):
    """From bytes to chunks."""

    policy: Literal["sections", "sentences", "fixed"] = "sections"
    """How documents are cut."""
    chunk_tokens: Annotated[int, Field(ge=32)] = 200
    """A chunk's size, heading included (tokens)."""
    overlap_tokens: Annotated[int, Field(ge=0)] = 30
    """Repeated between sentence or fixed chunks (tokens)."""
    batch: Annotated[int, Field(ge=1)] = 32
    """Documents taken from the queue at once."""
    ack_wait_s: Annotated[float, Field(ge=1)] = 60.0
    """A worker silent for this long has died (seconds)."""
    max_deliver: Annotated[int, Field(ge=5)] = 6
    """Tries before a file is set aside with a finding."""


class EmbedSettings(Section):
    """What turns text into vectors."""

    model: str = "minilm"
    """Minilm (packaged), hashing, any fastembed model, a folder by its path, or a plugin (openai, voyage)."""
    runtime: Literal["auto", "onnx", "openvino"] = "auto"
    """Auto takes OpenVINO where it is installed."""
    threads: Annotated[int, Field(ge=0)] = 0
    """Inference threads; 0: one a core."""
    batch_tokens: Annotated[int, Field(ge=64)] = 512
    """Tokens in one inference batch, padding included."""
    local_files_only: bool = False
    """Never download a model."""
    options: Annotated[dict[str, Any], BeforeValidator(table)] = Field(default_factory=dict)
    """Passed to the embedder plugin as they are."""


class RecallSettings(Section):
    """How a query finds its hits."""

    mode: Mode = Mode.RERANK
    """Dense, lexical, hybrid or rerank, unless the request says."""
    candidates: Annotated[int, Field(ge=1, le=1_000)] = 100
    """Taken from each leg."""
    rrf_k: Annotated[int, Field(ge=1)] = 60
    """Reciprocal rank fusion constant."""
    rerank: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Fused candidates that are reranked."""
    reserve: Annotated[int, Field(ge=0)] = 5
    """Best of each leg that are reranked whatever fusion says."""
    blend: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Weight of each leg's score beside the reranker's."""
    pool_share: Annotated[float, Field(ge=0, le=1)] = 0.3
    """Weight of a document's next two chunks."""
    crowding: Annotated[float, Field(ge=0, le=1)] = 0.25
    """Each further hit of a document is set back so far (share of the scores' range)."""
    reranker: str = "maxsim"
    """Maxsim (built in), or a plugin (cross_encoder): see docs/judges.md."""
    reranker_options: Annotated[dict[str, Any], BeforeValidator(table)] = Field(default_factory=dict)
    """Passed to the reranker plugin as they are."""
    rerank_timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """After so long a reranker plugin is not waited for: MaxSim decides (seconds)."""
    embed_timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """After so long the words alone must do (seconds)."""


class TrustSettings(Section):
    """How sure an answer must be."""

    calibrate: Literal["auto", "off"] = "auto"
    """Auto learns from probe questions how sure the memory may be; off leaves it to `recall calibrate`."""
    probes: Annotated[int, Field(ge=20, le=296)] = 150
    """Probe questions of each kind, answerable and not, at most."""
    check_interval_s: Annotated[float, Field(gt=0)] = 60.0
    """How often a change of the corpus is looked for (seconds)."""
    drift_share: Annotated[float, Field(gt=0, le=1)] = 0.05
    """Share of documents that must change before probes are asked again."""
    drift_probes: Annotated[int, Field(ge=10)] = 60
    """How many are asked again then."""
    drift_error: Annotated[float, Field(ge=0, lt=1)] = 0.10
    """Share of misjudged probes above which it is fitted anew."""
    entailment: str = ""
    """What tells whether a hit answers: empty (nothing), or a plugin (qnli); see docs/judges.md."""
    entailment_options: Annotated[dict[str, Any], BeforeValidator(table)] = Field(default_factory=dict)
    """Passed to the entailment plugin as they are."""
    entailment_threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Below this probability a hit is not entailed."""
    entailment_hits: Annotated[int, Field(ge=1)] = 8
    """How many of the best hits are looked at."""
    entailment_timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """After so long the answer stands without (seconds)."""
    receipt_days: Annotated[int, Field(ge=1)] = 30
    """How long it is kept what an answer relied on (days)."""
    stale_after_hours: Annotated[float, Field(ge=0)] = 0.0
    """A memory in which nothing was indexed for so long is called aged; 0: never (hours)."""


class Settings(BaseSettings):
    """The effective settings of one process. Made by :func:`recalld.configuration.load`, which layers the sources."""

    model_config = SettingsConfigDict(
        env_prefix="RECALLD_",
        env_nested_delimiter="__",
        enable_decoding=False,
        extra="forbid",
        frozen=True,
        validate_default=True,
    )

    node: NodeSettings = Field(default_factory=NodeSettings)
    store: StoreSettings = Field(default_factory=StoreSettings)
    bus: BusSettings = Field(default_factory=BusSettings)
    watch: WatchSettings = Field(default_factory=WatchSettings)
    ingest: IngestSettings = Field(default_factory=IngestSettings)
    embed: EmbedSettings = Field(default_factory=EmbedSettings)
    recall: RecallSettings = Field(default_factory=RecallSettings)
    trust: TrustSettings = Field(default_factory=TrustSettings)
    lessons: LessonSettings = Field(default_factory=LessonSettings)
    ask: AskSettings = Field(default_factory=AskSettings)
    mcp: McpSettings = Field(default_factory=McpSettings)
    put: PutSettings = Field(default_factory=PutSettings)
    tracing: TracingSettings = Field(default_factory=TracingSettings)
    schedule: ScheduleSettings = Field(default_factory=ScheduleSettings)
    repos: Annotated[tuple[RepoSettings, ...], BeforeValidator(table)] = ()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take values as given: :mod:`recalld.configuration` reads and layers the sources, to know each value's."""
        return (init_settings,)
