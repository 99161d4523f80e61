"""Files are edited, deleted and restored while questions are asked: no answer is of what a file held before."""

from __future__ import annotations

from pathlib import Path

from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.interleavings import Limits
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed

TURNS = 150


async def test_no_answer_is_of_what_a_file_held_before(anyio_backend: str, tmp_path: Path) -> None:
    limits = Limits(tmp_path, seed=3)
    with short_directory() as directory:
        async with (
            running(directory / "state", RECALLD_EMBED__MODEL="minilm") as daemon,
            daemon.client("alice") as client,
        ):
            await client.repo_add(str(tmp_path), name="memory")
            await until_indexed(client, "memory", on_disk(tmp_path))
            seen = await limits.walk(client.ask, TURNS)
            await until_indexed(client, "memory", on_disk(tmp_path))
            wrong = [await limits.wrong(client.ask) for _ in range(2)]
    assert seen.stale == []
    assert seen.asked == TURNS
    assert seen.from_memory >= TURNS // 8, seen
    assert seen.there >= TURNS // 3, seen
    assert seen.right >= 0.7 * seen.there, seen  # a file that came back is not known before it is indexed
    assert wrong == [[], []]
