"""Terms as 64-bit keys."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b


@lru_cache(maxsize=200_000)
def term_key(generation_id: int, term: str) -> int:
    """Return the signed 64-bit key of a term in one generation (blake2b; the generation is its key).

    Two of a million different terms collide with a probability of 3e-8; it then counts as both.
    """
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8, key=generation_id.to_bytes(4, "big"))
    return int.from_bytes(digest.digest(), "big", signed=True)
