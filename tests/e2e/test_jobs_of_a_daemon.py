"""A daemon's jobs from the command line: seen, run, waited for, called off; and what the shipped ones find."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import asyncpg
import pytest

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.store import Store
from tests.support.commands import run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.postgres import fresh_database
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed

FILES = {
    "decisions/a.md": "---\nsupersedes: nowhere\n---\n# A\n\nWe use a queue. See [the plan](plan.md), ![x](x.png).\n",
    "decisions/b.md": "# B\n\nSee [A](a.md) and [the folder](../decisions/).\n",
    "notes/key.md": "# Key\n\nnothing here\n",
    "notes/empty.md": "",
}


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str, empty_place: str) -> AsyncIterator[Daemon]:
    settings = {
        "RECALLD_SCHEDULE__RETENTION": "every 1s",
        "RECALLD_SCHEDULE__JITTER_S": "0",
        "RECALLD_STORE__DSN": empty_place,
        "RECALLD_TRUST__CALIBRATE": "off",
    }
    with short_directory() as directory:
        async with running(directory / "state", **settings) as started:
            yield started


@pytest.fixture(scope="module")
async def empty_place(anyio_backend: str, postgres_server: str) -> AsyncIterator[str]:
    """The dsn of an empty database for the module's daemon."""
    async with fresh_database(postgres_server, None) as dsn:
        yield dsn


@pytest.fixture(scope="module")
async def client(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[RecallClient]:
    root = tmp_path_factory.mktemp("memory")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    async with daemon.client() as opened:
        await opened.repo_add(str(root), name="memory")
        await until_indexed(opened, "memory", on_disk(root))
        yield opened


async def run(client: RecallClient, name: str) -> wire.JobRunView:
    """Run a job to its end."""
    async with client.follow("job.done") as events:
        asked = (await client.jobs_run(name)).run
        with anyio.fail_after(20):
            async for event in events:
                if event.data["run"] == asked.id:
                    break
    (done,) = (await client.jobs(id=asked.id)).runs
    return done


async def waited_for(daemon: Daemon, name: str) -> wire.JobRunView:
    done = await run_recall(daemon, "jobs", "run", name, "--wait", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return wire.JobRunView.model_validate_json(done.stdout)


async def test_lint_keeps_what_is_wrong_as_findings(daemon: Daemon, client: RecallClient) -> None:
    for _ in range(2):
        found = await waited_for(daemon, "lint")
        assert (found.result["error"], found.result["warning"], found.result["documents"]) == (1, 2, 4)
        stats = await client.stats()
        told = sorted((finding.path, finding.code) for finding in stats.findings)
        assert [each for each in told if each[1] in ("dangling-supersedes", "broken-link", "empty-file")] == [
            ("decisions/a.md", "broken-link"), ("decisions/a.md", "dangling-supersedes"),
            ("notes/empty.md", "empty-file"),
        ]  # fmt: skip
    assert found.slot.startswith("manual-")
    assert found.requested_by == "cli"


async def test_verify_finds_what_is_damaged_and_repairs_nothing(
    daemon: Daemon, client: RecallClient, empty_place: str
) -> None:
    sound = await run(client, "verify")
    assert sound.result["sound"] is True
    assert sound.result["faults"] == {"claim-without-target": 1}
    assert sound.result["repos"]["memory"]["seen"] == len(FILES)
    assert sound.result["repos"]["memory"]["changed"] == 0
    database = await asyncpg.connect(empty_place)
    document = await database.fetchval("SELECT id FROM document WHERE path = 'decisions/b.md'")
    await database.execute("DELETE FROM document_generation WHERE document_id = $1", document)
    await database.execute(
        "DELETE FROM chunk_vector v USING chunk c WHERE c.id = v.chunk_id AND document_id = $1", document
    )
    await database.execute(
        "UPDATE posting SET chunk_id = -chunk_id WHERE chunk_id IN (SELECT id FROM chunk WHERE document_id = $1)",
        document,
    )
    damaged = await run(client, "verify")
    again = await run(client, "verify")
    assert damaged.result["sound"] is False
    assert damaged.result["faults"] == again.result["faults"]
    assert set(damaged.result["faults"]) == {
        *("claim-without-target", "missing-in-generation", "chunk-without-generation", "chunk-without-postings"),
        *("chunk-without-vector", "posting-without-chunk"),
    }
    findings = (await client.get("decisions/b.md")).findings
    assert {finding.code for finding in findings} >= {"missing-in-generation", "chunk-without-vector"}
    (repo,) = (await client.repo_list()).repos
    await client.repo_remove("memory")
    await client.repo_add(repo.path, name="memory")
    await until_indexed(client, "memory", on_disk(Path(repo.path)))
    await database.execute("DELETE FROM posting WHERE chunk_id < 0")
    await database.close()
    mended = await run(client, "verify")
    assert mended.result["faults"] == {"claim-without-target": 1}
    assert not (await client.get("decisions/b.md")).findings


async def test_drift_says_that_nothing_is_calibrated(daemon: Daemon, client: RecallClient) -> None:
    looked = await run(client, "calibrate-drift")
    assert looked.result == {"step": "waiting", "reason": "nothing is calibrated yet: `recall calibrate` says why"}


async def test_the_schedule_runs_each_slot_once_and_the_list_shows_it(
    daemon: Daemon, client: RecallClient, empty_place: str
) -> None:
    async with client.follow("job.done") as events:
        with anyio.fail_after(20):
            slots = []
            async for event in events:
                if event.data["name"] == "retention" and event.data["slot"][:2] == "20":
                    slots.append(event.data["slot"])
                if len(slots) == 3:
                    break
    assert len(set(slots)) == 3
    listed = await run_recall(daemon, "jobs", "list", "--limit", "500")
    assert listed.returncode == 0, listed.stderr
    assert "every 1s" in listed.stdout
    assert "nothing to" in listed.stdout
    as_json = json.loads((await run_recall(daemon, "jobs", "list", "--name", "retention", "--json")).stdout)
    (job,) = as_json["jobs"]
    assert job["last"]["state"] in ("done", "running")
    assert job["next_at"]
    assert {each["name"] for each in as_json["runs"]} == {"retention"}
    store = await Store.open(empty_place)
    names = [row.slot for row in await store.jobs.list(name="retention", limit=500)]
    await store.aclose()
    assert len(names) == len(set(names))
    assert set(slots) <= set(names)


async def test_what_there_is_not_is_named_with_what_there_is(daemon: Daemon, client: RecallClient) -> None:
    for words in (("run", "polish"), ("list", "--name", "polish")):
        unknown = await run_recall(daemon, "jobs", *words)
        assert unknown.returncode == 1
        assert "there is no job polish" in unknown.stderr
        assert "calibrate-drift, consolidate, episodes, lint, maintain, retention, verify" in unknown.stderr
    missing = await run_recall(daemon, "jobs", "cancel", "4711000")
    assert missing.returncode == 1
    assert "recall jobs list" in missing.stderr


async def test_a_run_is_called_off_and_one_that_ended_is_not(daemon: Daemon, client: RecallClient) -> None:
    done = await run(client, "retention")
    late = await run_recall(daemon, "jobs", "cancel", str(done.id))
    assert late.returncode == 1
    assert "had ended already: done" in late.stdout
    asked = [(await client.jobs_run("verify", key=f"key-{number}")).run for number in range(6)]
    assert asked[0].id == (await client.jobs_run("verify", key="key-0")).run.id
    off = await run_recall(daemon, "jobs", "cancel", str(asked[5].id))
    assert "is cancelled" in off.stdout or "had ended already" in off.stdout or "told to stop" in off.stdout
