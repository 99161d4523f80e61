"""The settings of what recalld does for agents: answers, lessons, documents, jobs. See :mod:`recalld.settings`."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SecretStr, field_validator

from recalld.section import Section, Words, table


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
    answerer_options: Annotated[dict[str, Any], BeforeValidator(table)] = Field(default_factory=dict)
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
    jobs: Annotated[dict[str, JobSettings], BeforeValidator(table)] = Field(default_factory=dict)
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
