"""How long it takes to wire an agent: the README's steps from a fresh folder to the first answer over MCP.

A real daemon runs, with a memory that is indexed. For each program: `recall agent install` as a process, then the SDK's
client starts the server by the entry that was just written and searches. The same search again, over the session that
is there by then, is the baseline.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from tests.bench.figure import Figure, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.mcp import call
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed
from tests.support.wiring import client, install

BAR_S = 120.0
MEMORY = Path(__file__).parents[2] / "examples/memory"
PROGRAMS = ("generic", "claude-code")
QUESTION = "where are login sessions stored?"


async def _wired(program: str, home: Path, state_dir: Path) -> Figure:
    """Wire a program and ask once; the answer must be the memory's."""
    home.mkdir()
    begun = time.perf_counter()
    await install(program, home, state_dir)
    installed = time.perf_counter()
    async with client(program, home) as session:
        _, told = await call(session, "recall_search", query=QUESTION)
        took = time.perf_counter() - begun
        assert [hit["path"] for hit in told["hits"]], told
        asked = time.perf_counter()
        await call(session, "recall_search", query=QUESTION)
        alone = time.perf_counter() - asked
    steps = f"install {installed - begun:.2f} s; a search by itself {alone:.3f} s"
    return Figure(f"{program}: wired, first answer", took, "s", steps, f"at most {BAR_S:.0f} s", took <= BAR_S)


async def measure() -> list[Figure]:
    """Wire each program in a folder of its own."""
    with short_directory() as directory:
        root = directory / "memory"
        shutil.copytree(MEMORY, root)
        async with running(directory / "state") as daemon:
            async with daemon.client() as asking:
                await asking.repo_add(str(root), name="memory")
                await until_indexed(asking, "memory", on_disk(root))
            return [await _wired(program, directory / program, daemon.state_dir) for program in PROGRAMS]


if __name__ == "__main__":
    report(measure)
