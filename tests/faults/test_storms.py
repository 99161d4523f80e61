"""More changes than a watcher can tell of: the index still ends where the disk is."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from recalld.bus import wire
from recalld.errors import NotFoundError
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.repos import git, on_disk, write_memos
from tests.support.waiting import contents, contents_from_scratch, until_indexed


@pytest.mark.timeout(600)
async def test_files_written_while_the_process_is_stopped(tmp_path: Path) -> None:
    """20,000 files overflow the kernel's event queue (16,384), and the process that would read it stands still."""
    root = tmp_path / "memory"
    root.mkdir()
    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            os.kill(daemon.pid, signal.SIGSTOP)
            try:
                written = write_memos(root, range(20_000), words=12)
            finally:
                os.kill(daemon.pid, signal.SIGCONT)
            await until_indexed(client, "memory", written, timeout=480)


@pytest.mark.timeout(300)
async def test_checkouts_back_and_forth(tmp_path: Path) -> None:
    """Ten checkouts between branches that differ in 500 files: the index equals one made from the final tree."""
    root = tmp_path / "memory"
    write_memos(root, range(600), words=20)
    git(root, "init", "-q", "-b", "one")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    git(root, "checkout", "-q", "-b", "two")
    write_memos(root, range(250), version=2, words=20)
    for number in range(250, 400):
        (root / f"d{number // 50:03d}" / f"m{number:05d}.md").unlink()
    write_memos(root, range(1_000, 1_100), words=20)
    git(root, "add", "-A", ".")
    git(root, "commit", "-q", "-m", "two")
    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", on_disk(root))
            for _ in range(5):
                git(root, "checkout", "-q", "one")
                git(root, "checkout", "-q", "two")
            await until_indexed(client, "memory", on_disk(root), timeout=120)
            assert await contents(client, "memory") == await contents_from_scratch(directory / "other", root, "memory")


async def test_a_root_renamed_away_and_back_loses_nothing(tmp_path: Path) -> None:
    root, away = tmp_path / "memory", tmp_path / "away"
    written = write_memos(root, range(20))
    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", written)
            root.rename(away)
            report = (await client.reindex(wire.ReindexRequest(repo="memory"))).reports[0]
            assert report.deleted == 0
            assert report.error is not None
            await until_indexed(client, "memory", written)
            away.rename(root)
            (root / "back.md").write_text("# Back\n\nagain\n")
            await client.reindex(wire.ReindexRequest(repo="memory"))
            await until_indexed(client, "memory", on_disk(root))


async def test_a_root_that_is_gone_for_good_keeps_its_documents_until_the_repo_is_removed(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    written = write_memos(root, range(20))
    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(wire.RepoAddRequest(path=str(root), name="memory"))
            await until_indexed(client, "memory", written)
            shutil.rmtree(root)
            await client.reindex(wire.ReindexRequest(repo="memory", allow_prune=True))
            await until_indexed(client, "memory", written)
            await client.repo_remove(wire.RepoRemoveRequest(name="memory"))
            with pytest.raises(NotFoundError):
                await client.get(wire.GetRequest(ref="memory:d000/m00001.md"))
