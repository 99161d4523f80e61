"""The nouns. Plain typed values with no I/O; every other part speaks in these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # clients of the bus speak in these nouns, too, and should not wait for numpy
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""One L2-normalised embedding, shape (dimension,)."""
TokenVectors: TypeAlias = "NDArray[np.float32]"
"""L2-normalised token embeddings, shape (tokens, dimension)."""
TokenBits: TypeAlias = "NDArray[np.uint8]"
"""Signs of token embeddings packed eight to a byte (numpy.packbits, big-endian), shape (tokens, dimension / 8)."""


class Operation(StrEnum):
    """What a snapshot says happened to a path."""

    UPSERT = "upsert"
    DELETE = "delete"


class DocumentState(StrEnum):
    """Where a known path stands.

    ``deleted`` and ``forgotten`` rows are tombstones: they keep the position so that a late
    message cannot resurrect the document. A ``forgotten`` one stays so while its file is saved again.
    """

    INDEXED = "indexed"
    SKIPPED = "skipped"
    FAILED = "failed"
    DELETED = "deleted"
    FORGOTTEN = "forgotten"


class Severity(StrEnum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Mode(StrEnum):
    """Which retrieval legs answer a search, so that each can be measured."""

    DENSE = "dense"
    LEXICAL = "lexical"
    HYBRID = "hybrid"
    RERANK = "rerank"


class State(StrEnum):
    """What a reply says of the daemon that made it."""

    READY = "ready"
    WARMING = "warming"
    DEGRADED = "degraded"


@dataclass(frozen=True, slots=True)
class Repo:
    """A memory repo: a directory that one node watches."""

    name: str
    path: str
    node: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    read_only: bool = False
    visible_to: tuple[str, ...] = ()
    id: int = 0


@dataclass(frozen=True, slots=True)
class FileStat:
    """What lstat says of a file; equal stats mean that the content need not be read to be believed."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where a snapshot stands in the order of events.

    ``epoch`` is the stream's creation time (ns since 1970), so that a bus whose storage was lost and
    starts again at sequence 1 still counts as later. ``seq`` is the JetStream stream sequence.
    """

    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one file at one moment, complete: an index worker needs nothing else.

    ``skip`` says why the bytes were left out on purpose (``too_large``, ``binary``); such a file is indexed as skipped.
    """

    repo: str
    path: str
    operation: Operation
    content_hash: str = ""
    stat: FileStat | None = None
    content: bytes | None = None
    commit: str | None = None
    agent: str = ""
    observed_at: datetime | None = None
    skip: str | None = None


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What the index believes of one path: the other half of the compare."""

    path: str
    state: DocumentState
    content_hash: str
    stat: FileStat | None
    position: Position


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault in one file (or repo, with an empty path), with what to do about it."""

    repo: str
    path: str
    code: str
    severity: Severity
    message: str
    hint: str = ""
    line: int | None = None
    key: str | None = None
    attempts: int = 1
    first_seen: datetime | None = None
    last_seen: datetime | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation as its author wrote it, unresolved.

    ``source`` is where it was read, and so how sure it is: ``key`` (frontmatter), ``header``, ``status``, ``record`` (a
    file of ours that says it of two others), ``link``, ``prose``. ``subject`` names the document that it is about,
    where that is not the one it stands in.
    """

    kind: str
    target: str
    source: str
    key: str = ""
    line: int | None = None
    subject: str = ""


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A passage as a chunker cut it.

    ``text`` is verbatim lines ``lines`` (1-based, inclusive) of the document's text, or a part of them where a line
    alone is too long or windows overlap; ``heading`` the path of headings above it; ``embed_text`` what the embedder
    sees (context and text); ``hash`` its sha256 hex.
    """

    ordinal: int
    text: str
    embed_text: str
    heading: tuple[str, ...]
    lines: tuple[int, int]
    hash: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A file after reading: its text with LF line ends, what it says of itself, and its chunks."""

    path: str
    title: str
    kind: str
    text: str
    chunks: tuple[ChunkDraft, ...]
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """What is stored of a chunk's embedding."""

    pooled: Vector
    bits: TokenBits | None


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """What a query is searched with; ``tokens`` is None for embedders without token vectors."""

    pooled: Vector
    tokens: TokenVectors | None


@dataclass(frozen=True, slots=True)
class Postings:
    """A chunk as the lexical leg sees it: weighted term frequencies (all fields) and the weighted length."""

    frequencies: Mapping[str, float]
    length: float


@dataclass(frozen=True, slots=True)
class ChunkWrite:
    """A chunk to store. ``vectors`` None claims that this document already holds a chunk of the same hash."""

    draft: ChunkDraft
    postings: Postings | None
    vectors: ChunkVectors | None


@dataclass(frozen=True, slots=True)
class Generation:
    """One way of turning documents into an index; vectors of two generations never meet in a query."""

    id: int
    fingerprint: str
    embedder: str
    embedder_fingerprint: str
    dimension: int
    state: str
    documents: int = 0
    created_at: datetime | None = None
    switched_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is narrowed to; empty means no restriction.

    ``path`` is a glob over the repo-relative path, ``since``/``until`` bound the file's modification time,
    ``agent`` is who asks: repos that name their readers are invisible to others.
    """

    repos: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    path: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    agent: str = ""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the store returns it, with what a hit needs to say where it comes from."""

    id: int
    document_id: int
    repo: str
    path: str
    title: str
    kind: str
    tags: tuple[str, ...]
    heading: tuple[str, ...]
    lines: tuple[int, int]
    text: str
    hash: str
    content_hash: str
    commit: str | None
    agent: str
    position: Position
    modified_at: datetime | None
    indexed_at: datetime
    first_indexed_at: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passage(self) -> str:
        """What a model reads that sees nothing else of the document: title and headings, then the text."""
        return "\n".join((*dict.fromkeys((self.title, *self.heading)), self.text))


@dataclass(frozen=True, slots=True)
class StageTrace:
    """One stage of a search: how many candidates came in and went out, how long it took, and what it ranked where.

    ``dropped`` names candidates that the stage took out on purpose, each with its reason.
    """

    stage: str
    took_ms: float
    entered: int
    left: int
    ranking: tuple[tuple[int, float], ...] = ()
    dropped: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """A candidate with the scores of each stage that saw it (``dense`` is a cosine, ``lexical`` BM25, ...)."""

    chunk: StoredChunk
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What retrieval hands on to trust: candidates best first, and how they came about.

    ``vectors`` are the query's, None where it could not be embedded.
    """

    chunks: Sequence[RankedChunk]
    trace: Sequence[StageTrace]
    state: State
    notes: Sequence[str] = ()
    vectors: QueryVectors | None = None
