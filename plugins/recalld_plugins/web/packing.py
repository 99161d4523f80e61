"""The body of an answer, unpacked no further than is allowed."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable

from recalld.errors import FetchError, TooLargeError

_GZIP = 31
"""zlib's window bits for gzip, and nothing else."""


async def body_of(parts: AsyncIterable[bytes], encoding: str, most: int) -> bytes:
    """Return a body of at most ``most`` bytes, packed and unpacked. Raises TooLargeError, FetchError."""
    name = encoding.strip().casefold()
    if name not in ("", "identity", "gzip", "x-gzip"):
        raise FetchError(f"the answer is packed as {name[:40]!r}, which was not asked for")
    unpack = _Gunzip(most) if "gzip" in name else None
    body, packed = bytearray(), 0
    async for part in parts:
        packed += len(part)
        body += part if unpack is None else unpack(part, most - len(body))
        if max(packed, len(body)) > most:
            raise _too_large(most)
    if unpack is not None and not unpack.is_whole:
        raise FetchError("the answer breaks off", suggestion="try again")
    return bytes(body)


class _Gunzip:
    """Unpacks gzip, one member after another."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._member = zlib.decompressobj(_GZIP)
        self.is_whole = False

    def __call__(self, part: bytes, room: int) -> bytes:
        """Return what a part holds. Raises TooLargeError where that is more than ``room`` bytes, FetchError."""
        out = b""
        while part:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
            try:
                out += self._member.decompress(part, room - len(out) + 1)
            except zlib.error as error:
                raise FetchError(f"the answer is not packed as it says: {error}", suggestion="try again") from error
            if len(out) > room:
                raise _too_large(self._most)
            part = self._member.unused_data
        self.is_whole = self._member.eof
        return out


def _too_large(most: int) -> TooLargeError:
    return TooLargeError(f"the document has more than {most} bytes", suggestion="see put.max_bytes")
