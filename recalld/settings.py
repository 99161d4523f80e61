"""Every setting, in one place: TOML file < systemd credentials < environment (``RECALLD_...``) < flags.

``config/recalld.toml`` is written from these declarations (``make config``), so the two cannot disagree.
Nested environment names use a double underscore: ``RECALLD_STORE__DSN``.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from recalld.bus.subjects import is_token
from recalld.model import Mode

Role = Literal["watch", "index", "serve", "schedule"]
ALL_ROLES: tuple[Role, ...] = ("watch", "index", "serve", "schedule")


def _words(value: Any) -> Any:
    """Read a list from the one string that an environment variable or a flag is: JSON, or words between commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _table(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


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

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True)


class NodeSettings(Section):
    """Who this daemon is and where it keeps its state."""

    name: str = Field(default_factory=_node_name)
    """Name on the bus; letters, digits, - and _ (default: host)."""
    roles: Annotated[tuple[Role, ...], BeforeValidator(_words)] = ALL_ROLES
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
    options: Annotated[dict[str, Any], BeforeValidator(_table)] = Field(default_factory=dict)
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
    reranker_options: Annotated[dict[str, Any], BeforeValidator(_table)] = Field(default_factory=dict)
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
    entailment_options: Annotated[dict[str, Any], BeforeValidator(_table)] = Field(default_factory=dict)
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


class LessonSettings(Section):
    """What rules and lessons say before an act (chosen on labelled sets), and how lessons are looked after."""

    shared_words: Annotated[int, Field(ge=2)] = 3
    """Distinctive words that an act must share with a guardrail."""
    weight: Annotated[float, Field(gt=0)] = 1.9
    """What they must weigh together; a word that one guardrail alone has in its title weighs 1."""
    common_share: Annotated[float, Field(gt=0, le=1)] = 0.15
    """A word that more of the guardrails have tells nothing (share)."""
    text_weight: Annotated[float, Field(ge=0, le=1)] = 0.85
    """What a word counts that stands in the text alone."""
    length_share: Annotated[float, Field(ge=0, le=1)] = 0.75
    """BM25's b: how far the words of long texts count less."""
    local_weight: Annotated[float, Field(ge=0, le=1)] = 0.6
    """What words count in an act that says it is local."""
    most: Annotated[int, Field(ge=1, le=20)] = 3
    """Guardrails told of at most."""
    blend: Annotated[float, Field(ge=0, le=20)] = 0.0
    """Weight of sentence embeddings beside words; 4 is good, and costs an embedding an act. 0: words alone."""
    again_s: Annotated[float, Field(ge=0)] = 900.0
    """What was told in a session is not told again for so long (seconds)."""
    grace_days: Annotated[int, Field(ge=0)] = 90
    """A lesson is not put away before it is so old, and its use was watched for so long (days)."""
    prune_cap: Annotated[int, Field(ge=1)] = 20
    """Lessons of a repo that one run puts away at most."""
    auto_prune: bool = False
    """Maintenance puts lessons away by itself, instead of proposing it."""


class JobSettings(Section):
    """What one job has other than all."""

    timeout_s: Annotated[float, Field(gt=0)] | None = None
    """After so long it is stopped (seconds)."""
    jitter_s: Annotated[float, Field(ge=0)] | None = None
    """It is asked for up to so much later (seconds)."""
    misfire_grace_s: Annotated[float, Field(gt=0)] | None = None
    """A slot that was missed is still asked for so long after (seconds)."""


class McpSettings(Section):
    """What `recall mcp` offers to agents."""

    token: SecretStr | None = None
    """What HTTP clients show; unset: one is made, on loopback alone (16 characters or more)."""
    hosts: Words = ()
    """Names by which a proxy is asked for it, as memory.example.org."""
    max_tokens: Annotated[int, Field(ge=1_000, le=100_000)] = 6_000
    """How long a tool's answer may be unless the call says (tokens, estimated)."""


class AskSettings(Section):
    """How questions are answered, and what is remembered of the answers."""

    answerer: str = "extractive"
    """Extractive (built in: it quotes), or a plugin (openai: any OpenAI-compatible endpoint); see docs/ask.md."""
    answerer_options: Annotated[dict[str, Any], BeforeValidator(_table)] = Field(default_factory=dict)
    """Passed to the answerer plugin as they are."""
    tokens_per_day: Annotated[int, Field(ge=0)] = 0
    """What the answerer may take a day, prompts included; 0: no limit (tokens, days in UTC)."""
    budget: Annotated[int, Field(ge=64, le=32_000)] = 1_500
    """Evidence for one answer (tokens)."""
    hyde: bool = True
    """Where nothing near is found, search again with a passage that the answerer imagines."""
    episodes: Annotated[int, Field(ge=0)] = 50_000
    """Answers that are remembered at most."""
    session_days: Annotated[int, Field(ge=1)] = 90
    """Conversations that were not used for so long are dropped (days)."""
    disk_timeout_ms: Annotated[int, Field(ge=1)] = 500
    """How long a node may take to say whether files are as they were (ms)."""


class PutSettings(Section):
    """What may be put in as documents, and what that may cost. See docs/put.md."""

    max_bytes: Annotated[int, Field(ge=1_024, le=67_108_864)] = 20_971_520
    """A larger file or page is refused; what is packed counts unpacked, too (bytes)."""
    max_text_bytes: Annotated[int, Field(ge=1_024, le=8_388_608)] = 4_194_304
    """A document with more text is refused (bytes)."""
    max_pages: Annotated[int, Field(ge=1)] = 1_000
    """A PDF with more pages is refused."""
    max_seconds: Annotated[float, Field(ge=1, le=280)] = 60.0
    """Fetching may take so long, and so may converting (seconds)."""
    max_memory_bytes: Annotated[int, Field(ge=268_435_456)] = 1_073_741_824
    """The address space of a process that converts (bytes)."""
    max_redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """A URL may lead on so often."""
    schemes: Words = ("http", "https")
    """The schemes of URLs that are fetched: http, https."""
    allow_private: bool = False
    """Fetch from addresses that are not public, too: loopback, private and local networks."""

    @field_validator("schemes")
    @classmethod
    def _known_schemes(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not set(value) <= {"http", "https"}:
            raise ValueError("only http and https can be fetched")
        return value


class TracingSettings(Section):
    """Spans for OpenTelemetry, over questions, searches and indexing: see docs/ask.md."""

    endpoint: str = ""
    """Where they are sent by OTLP over HTTP, as http://localhost:4318/v1/traces; empty: nowhere."""
    every_s: Annotated[float, Field(gt=0)] = 5.0
    """How often they are sent (seconds)."""
    timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """How long a collector may take (seconds)."""


class ScheduleSettings(Section):
    """What runs by the clock: crontabs in UTC or intervals ("every 6h"); empty: never. See docs/jobs.md."""

    retention: str = "30 3 * * *"
    """Clean-up of tombstones, caches, receipts and the history of jobs."""
    calibrate_drift: str = "every 12h"
    """Probe questions are asked again: does the calibration still fit."""
    episodes: str = "45 3 * * *"
    """Answers that are remembered: junk, near-duplicates (proposed), the cap; old conversations."""
    lint: str = "15 4 * * *"
    """What is wrong with each memory, as findings."""
    maintain: str = "15 5 * * *"
    """One pass over lessons: audit, prune (proposed), duplicates, lint, verify."""
    consolidate: str = ""
    """Lessons that say the same, by itself; maintain looks for them, too."""
    verify: str = "45 4 * * *"
    """Index against disk, graph against files, orphans."""
    jitter_s: Annotated[float, Field(ge=0)] = 30.0
    """A job is asked for up to so much after its time, by lot (seconds)."""
    misfire_grace_s: Annotated[float, Field(gt=0)] = 3_600.0
    """A slot that was missed is still asked for so long after (seconds)."""
    timeout_s: Annotated[float, Field(gt=0)] = 1_800.0
    """After so long a job is stopped (seconds)."""
    jobs: Annotated[dict[str, JobSettings], BeforeValidator(_table)] = Field(default_factory=dict)
    """One job's own: { lint = { timeout_s = 600 } }."""
    ack_wait_s: Annotated[float, Field(ge=1)] = 30.0
    """A node that runs a job and is silent for so long has died (seconds)."""
    history_days: Annotated[int, Field(ge=8)] = 30
    """How long it is kept what became of each run (days)."""

    @field_validator("jobs")
    @classmethod
    def _known_jobs(cls, value: dict[str, JobSettings]) -> dict[str, JobSettings]:
        named = {name.replace("_", "-"): own for name, own in value.items()}
        unknown = sorted(named.keys() - cls.names())
        if unknown:
            raise ValueError(f"there is no job {', '.join(unknown)}; there are {', '.join(sorted(cls.names()))}")
        return named

    @classmethod
    def names(cls) -> set[str]:
        """Return the names of all jobs: each text of this section is when a job of that name runs."""
        return {name.replace("_", "-") for name, field in cls.model_fields.items() if field.annotation is str}

    def when(self) -> dict[str, str]:
        """Return when each job runs, as written."""
        return {name: str(getattr(self, name.replace("-", "_"))) for name in sorted(self.names())}

    def of(self, name: str, key: str) -> float:
        """Return ``timeout_s``, ``jitter_s`` or ``misfire_grace_s`` of a job: its own, else what holds for all."""
        own = getattr(self.jobs.get(name), key, None)
        return float(getattr(self, key) if own is None else own)


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
    repos: Annotated[tuple[RepoSettings, ...], BeforeValidator(_table)] = ()

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
