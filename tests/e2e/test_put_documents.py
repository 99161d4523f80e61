"""What became of documents that were put in: listed, removed, forgotten, or left out by a repo's rules."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recalld.bus.client import RecallClient
from recalld.errors import NotFoundError, RefusedError, UsageError
from tests.support.commands import run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state") as started:
            yield started


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[RecallClient]:
    async with daemon.client("alice") as connected:
        yield connected


@pytest.fixture
async def memory(client: RecallClient, tmp_path: Path) -> AsyncIterator[Path]:
    """A repo of the same name as its directory, which no other test has: nothing is left in a queue for it."""
    root = tmp_path / f"memory-{uuid.uuid4().hex[:8]}"
    (root / "decisions").mkdir(parents=True)
    (root / "decisions/0001-tea.md").write_text("---\nid: adr-1\n---\n# ADR 1: Tea\n\nTea is served at five.\n")
    await client.repo_add(str(root), name=root.name)
    await until_indexed(client, root.name, on_disk(root))
    yield root
    await client.repo_remove(root.name)


async def test_documents_are_listed_and_removed(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    assert "nothing was put in" in (await run_recall(daemon, "documents", "list")).stdout
    for number in range(3):
        await client.put(source=f"stdin:note {number}", content=f"note number {number}".encode())
    await until_indexed(client, memory.name, on_disk(memory))
    first = await client.documents(limit=2)
    rest = await client.documents(limit=2, after=first.next)
    assert [view.path for view in (*first.documents, *rest.documents)] == [
        f"documents/note-{number}.txt" for number in range(3)
    ]
    assert rest.next == "" and {view.state for view in first.documents} == {"ok"}
    listed = json.loads((await run_recall(daemon, "documents", "list", "--json")).stdout)
    assert len(listed["documents"]) == 3
    assert (await run_recall(daemon, "documents", "remove", "stdin:note 1")).returncode == 4
    removed = await run_recall(daemon, "documents", "remove", "stdin:note 1", "--yes")
    assert removed.returncode == 0 and not (memory / "documents/note-1.txt").exists()
    await client.documents_remove(f"{memory.name}:documents/note-2.txt", repo=memory.name)
    await until_indexed(client, memory.name, on_disk(memory))
    with pytest.raises(NotFoundError):
        await client.documents_remove("documents/note-2.txt")
    with pytest.raises(RefusedError, match="not put in by recalld"):
        await client.documents_remove("decisions/0001-tea.md")
    with pytest.raises(UsageError):
        await client.documents_remove("../outside.md")
    assert (memory / "decisions/0001-tea.md").exists()


async def test_a_person_is_asked_about_the_document_that_is_meant(
    daemon: Daemon, client: RecallClient, memory: Path
) -> None:
    kept = await client.put(source="stdin:note 1", content=b"note number 1")
    await until_indexed(client, memory.name, on_disk(memory))
    asked = await run_recall(daemon, "documents", "remove", kept.path, answer="n")
    assert asked.returncode == 4
    assert f"remove the file {memory.name}:{kept.path}, which is from stdin:note 1?" in " ".join(asked.stderr.split())
    assert (memory / kept.path).exists()
    unknown = await run_recall(daemon, "documents", "remove", "documents/note-9.txt", answer="y")
    assert (unknown.returncode, unknown.stderr.splitlines()[0]) == (1, "error: no put document documents/note-9.txt")
    assert (await run_recall(daemon, "documents", "remove", f"{memory.name}:{kept.path}", answer="y")).returncode == 0
    assert not (memory / kept.path).exists()


async def test_what_was_forgotten_is_not_put_back_in_silence(client: RecallClient, memory: Path) -> None:
    stored = await client.put(source="stdin:diary", content=b"dear diary")
    await until_indexed(client, memory.name, on_disk(memory))
    await client.forget(stored.path)
    with pytest.raises(RefusedError, match="forgotten"):
        await client.put(source="stdin:diary", content=b"dear diary, today")
    assert "today" not in (memory / stored.path).read_text()


async def test_rules_of_a_repo_that_leave_documents_out_are_told(client: RecallClient, memory: Path) -> None:
    (memory / ".recallignore").write_text("documents/\n")

    async def is_left_out() -> bool:
        return any("not indexed" in note for note in (await client.put(source="stdin:x", content=b"x")).notes)

    await until(is_left_out)
