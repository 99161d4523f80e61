"""The messages that nodes send each other: a watcher's questions and reports, and snapshots on the ingest stream."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from recalld.bus.wire import FindingView, Reply, Request
from recalld.model import DocumentState, Operation


class ManifestRequest(Request):
    """A watching node asks what the index believes of a repo, a page at a time, or of named paths."""

    repo: str
    after: str | None = None
    paths: tuple[str, ...] | None = None
    limit: Annotated[int, Field(ge=1, le=5_000)] = 2_000


class ManifestReply(Reply):
    """Compact rows: path, state, content hash, stat (size, mtime_ns, ctime_ns, inode) or None, epoch, seq."""

    entries: tuple[tuple[str, DocumentState, str, tuple[int, int, int, int] | None, int, int], ...]
    next: str | None


class ObserveRequest(Request):
    """A watching node reports findings about a repo's files, replacing what it said of those paths before.

    ``complete`` drops the watch findings of all other paths of the repo first, whoever reported them.
    """

    repo: str
    state: str | None = None
    commit: str | None = None
    scanned_at: datetime | None = None
    findings: tuple[FindingView, ...] = ()
    cleared: tuple[str, ...] = ()
    complete: bool = False


class ObserveReply(Reply):
    """The report was stored."""

    stored: int


class IngestMessage(BaseModel):
    """The header part of a snapshot on the ingest stream; the bytes follow inline or stand in the object store.

    ``object`` names the object when the content is too big to stand inline.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Literal[1] = 1
    repo: str
    path: str
    operation: Operation
    content_hash: str = ""
    stat: tuple[int, int, int, int] | None = None
    commit: str | None = None
    agent: str = ""
    observed_at: datetime
    size: int = 0
    object: str | None = None
    skip: str | None = Field(None, description="why the file must not be read (too_large, binary): index it as skipped")


class CreateRequest(Request):
    """A serving node asks for a new file in a repo; nothing that stands there already is touched."""

    repo: str
    path: Annotated[str, Field(min_length=1, max_length=4_096)]
    text: Annotated[str, Field(max_length=524_288)]


class CreateReply(Reply):
    """The file was made."""

    path: str


class FileChange(BaseModel):
    """A step of a :class:`ChangeRequest`: ``content`` for create and replace, ``to`` for move.

    ``expected`` is the sha256 of what stands at ``path`` now, for all but create. ``object`` names content in the
    object store that is too big to stand inline.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_bytes="base64", val_json_bytes="base64")
    action: Literal["create", "replace", "move", "remove"]
    path: Annotated[str, Field(min_length=1, max_length=4_096)]
    to: Annotated[str, Field(max_length=4_096)] = ""
    expected: str = ""
    content: Annotated[bytes, Field(max_length=524_288)] = b""
    object: str = ""


class ChangeRequest(Request):
    """A serving node asks for changes of files in a repo: all of them, or none."""

    repo: str
    changes: Annotated[tuple[FileChange, ...], Field(min_length=1, max_length=1_000)]


class ChangeReply(Reply):
    """They were made."""

    changed: int


class ReadRequest(Request):
    """A serving node asks for the bytes of files in a repo; ``large`` ones come through the object store."""

    repo: str
    paths: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=4_096)], ...], Field(max_length=1_000)]
    large: bool = False


class HashesRequest(ReadRequest):
    """A serving node asks what files in a repo hold, without their bytes."""


class HashesReply(Reply):
    """The sha256 (hex) of what each file holds, empty for one that is gone; unknown ones are left out."""

    hashes: dict[str, str]


class ReadReply(Reply):
    """The content of each plain file that is there and fits; some at a time: ``read`` counts the paths looked at.

    ``objects`` names content in the object store that is too big to stand in ``files``; who asked for it deletes it.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    files: dict[str, bytes]
    read: int
    objects: dict[str, str] = Field(default_factory=dict)
