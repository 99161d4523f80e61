"""File content that is too big for a message: it stands in an object store bucket until it was indexed.

Written with nats-py's object store, but read chunk by chunk: its own ``get`` makes a push consumer, never returns
when chunks have expired, and leaves that consumer's tasks behind when it is cancelled.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import uuid

import nats.js.errors
from nats.js.api import ObjectMeta, ObjectMetaOptions
from nats.js.object_store import ObjectStore

from recalld.bus import subjects
from recalld.bus.connection import Connection
from recalld.errors import RecalldError

log = logging.getLogger(__name__)

CHUNK_BYTES = 256 * 1024
_STREAM = f"OBJ_{subjects.CONTENT_BUCKET}"


class ContentMissingError(RecalldError):
    """The content is not in the bucket, or not whole: it expired, was deleted, or the storage was lost."""

    code = "content_missing"


class ContentStore:
    """The bucket ``recall-content``."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._store = ObjectStore(name=subjects.CONTENT_BUCKET, stream=_STREAM, js=connection.jetstream)

    async def put(self, content: bytes) -> str:
        """Store content under a name that no other has; return the name. Raises DependencyError."""
        name = uuid.uuid4().hex
        chunk = min(CHUNK_BYTES, self._connection.max_payload)
        meta = ObjectMeta(name=name, options=ObjectMetaOptions(max_chunk_size=chunk))
        with self._connection.guarded("storing content"):
            await self._store.put(name, content, meta)
        return name

    async def get(self, name: str) -> bytes:
        """Return the content. Raises ContentMissingError when it is gone or damaged, DependencyError."""
        with self._connection.guarded(f"reading content {name}"):
            try:
                info = await self._store.get_info(name)
                content = await self._read(str(info.nuid), int(info.chunks or 0))
            except nats.js.errors.NotFoundError as error:
                raise ContentMissingError(f"content {name} is not in the object store any more") from error
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
        if (info.digest or "").partition("=")[2] != digest:
            raise ContentMissingError(f"content {name} is damaged in the object store")
        return content

    async def _read(self, nuid: str, chunks: int) -> bytes:
        subject = f"$O.{subjects.CONTENT_BUCKET}.C.{nuid}"
        parts: list[bytes] = []
        seq = 1
        for _ in range(chunks):
            message = await self._connection.jetstream.get_msg(
                _STREAM, seq=seq, subject=subject, next=True, direct=True
            )
            parts.append(message.data or b"")
            seq = int(message.seq or 0) + 1
        return b"".join(parts)

    async def delete(self, name: str) -> None:
        """Remove content; what cannot be removed now expires by itself."""
        try:
            with self._connection.guarded(f"deleting content {name}"):
                await self._store.delete(name)
        except RecalldError as error:
            log.debug("content %s is left to expire: %s", name, error)
