"""Trust over the bus: one daemon, files saved while agents rely on what they were told."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from recalld.bus.client import RecallClient
from recalld.errors import NotFoundError, RefusedError
from tests.support.commands import run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed

MEMORY = {
    "decisions/0002-times.md": "---\nvalid_from: 2023-10-16\n---\n# Times\n\nBookings are in harbour local time.\n",
    "decisions/0008-clocks.md": "---\nsupersedes: 2\nvalid_from: 2024-11-11\n---\n# Clocks\n\nBookings are in UTC.\n",
    "rules/freeze.md": "---\nvalid_until: 2025-07-20\n---\n# Freeze\n\nNobody deploys during the regatta.\n",
    "decisions/0010-rates.md": "# Rates\n\nEach client may send ninety requests a minute.\n",
}


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
    root = tmp_path / "memory"
    for path, text in MEMORY.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    await client.repo_add(str(root), name="memory")
    await until_indexed(client, "memory", on_disk(root))
    yield root
    await client.repo_remove("memory")


async def test_the_current_decision_answers_for_the_old_one(client: RecallClient, memory: Path) -> None:
    reply = await client.search("bookings are in harbour local time", k=2)
    assert (reply.hits[0].path, reply.hits[0].stands_for) == ("decisions/0008-clocks.md", "decisions/0002-times.md")
    [old] = [hit for hit in reply.withheld if hit.path == "decisions/0002-times.md"]
    assert (old.verdict, old.validity.superseded_by) == ("superseded", "decisions/0008-clocks.md")
    assert "1 superseded" in reply.reason
    shown = await client.search("bookings are in harbour local time", k=2, all=True)
    assert "superseded" in [hit.verdict for hit in shown.hits[2:]]
    assert shown.withheld == ()


async def test_a_day_in_the_past(client: RecallClient, memory: Path) -> None:
    reply = await client.search("bookings are in harbour local time", as_of=datetime(2024, 7, 15, tzinfo=UTC))
    assert reply.hits[0].path == "decisions/0002-times.md"
    assert "decisions/0008-clocks.md" not in [hit.path for hit in reply.hits]


async def test_only_what_does_not_hold_is_an_abstention(daemon: Daemon, memory: Path) -> None:
    asked = ("search", "nobody deploys during the regatta", "--path", "rules/**")
    result = await run_recall(daemon, *asked)
    assert result.returncode == 1
    why = "I don't know: the best match, rules/freeze.md, no longer holds: it was valid until 2025-07-20."
    assert why in " ".join(result.stdout.split())
    reply = json.loads((await run_recall(daemon, *asked, "--json")).stdout)
    assert (reply["abstained"], reply["gap_warning"], reply["hits"]) == (True, False, [])
    assert [hit["verdict"] for hit in reply["withheld"]] == ["expired"]
    past = await run_recall(daemon, *asked, "--as-of", "2025-07-20")
    assert past.returncode == 0
    assert "rules/freeze.md" in past.stdout


async def test_who_relied_on_a_memory_hears_when_it_is_replaced(
    daemon: Daemon, client: RecallClient, memory: Path
) -> None:
    reply = await client.search("how many requests may each client send a minute", k=1)
    assert reply.hits[0].path == "decisions/0010-rates.md"
    [before] = (await client.receipts(id=reply.receipt)).receipts
    assert before.stands
    async with client.follow("invalidated.alice") as events:
        (memory / "decisions/0014-limits.md").write_text(
            "---\nsupersedes: 0010-rates\n---\n# Limits\n\nTerminals: 300.\n"
        )
        with anyio.fail_after(10):
            event = await anext(events)
    assert (event.data["receipt"], event.data["path"]) == (reply.receipt, "decisions/0010-rates.md")
    assert (event.data["happened"], event.data["successor"]) == ("superseded", "decisions/0014-limits.md")
    [after] = (await client.receipts(id=reply.receipt)).receipts
    assert not after.stands
    assert after.citations[0].happened == "superseded"
    shown = await run_recall(daemon, "receipts", reply.receipt, "--agent", "alice")
    assert shown.returncode == 1
    assert "it no longer stands" in shown.stdout
    assert "decisions/0014-limits.md" in shown.stdout
    with pytest.raises(NotFoundError):
        async with daemon.client("bob") as other:
            await other.receipts(id=reply.receipt)


async def test_one_call_supersedes(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    (memory / "decisions/0020-terminals.md").write_text("# Terminals\n\nA terminal may send more.\n")
    await until_indexed(client, "memory", on_disk(memory))
    reply = await client.supersede(old="decisions/0010-rates.md", new="decisions/0020-terminals.md", why="Too few.")
    assert reply.record == "supersessions/0010-rates-replaced-by-0020-terminals.md"
    assert "Too few." in (memory / reply.record).read_text()
    found = await client.search("ninety requests a minute", k=1, min_seq=reply.seq)
    assert found.hits[0].stands_for == "decisions/0010-rates.md"
    again = await client.supersede(old="decisions/0010-rates.md", new="decisions/0020-terminals.md")
    assert (again.already, again.record) == (True, "")
    with pytest.raises(RefusedError, match="was itself replaced"):
        await client.supersede(old="rules/freeze.md", new="decisions/0010-rates.md")
    with pytest.raises(RefusedError, match="cannot replace itself"):
        await client.supersede(old="rules/freeze.md", new="rules/freeze.md")


async def test_a_persons_file_is_written_only_when_told_to(daemon: Daemon, memory: Path) -> None:
    new = memory / "decisions/0010-rates.md"
    before = new.read_text()
    result = await run_recall(daemon, "supersede", "rules/freeze.md", "decisions/0010-rates.md", "--write")
    assert result.returncode != 0
    assert new.read_text() == before
    result = await run_recall(daemon, "supersede", "rules/freeze.md", "decisions/0010-rates.md", "--write", "--yes")
    assert result.returncode == 0
    assert "+supersedes: rules/freeze.md" in result.stdout
    assert new.read_text() == f"---\nsupersedes: rules/freeze.md\n---\n{before}"


async def test_a_claim_without_effect_is_not_written(daemon: Daemon, memory: Path) -> None:
    (memory / "decisions/0040-idea.md").write_text("---\nstatus: rejected\n---\n# Idea\n\nUse carrier pigeons.\n")
    async with daemon.client() as client:
        await until_indexed(client, "memory", on_disk(memory))
    before = {path: path.read_bytes() for path in memory.rglob("*.md")}
    old, new, idea = "decisions/0002-times.md", "decisions/0008-clocks.md", "decisions/0040-idea.md"
    circle = await run_recall(daemon, "supersede", new, old, "--write", "--yes")
    assert (circle.returncode, "was itself replaced" in circle.stderr) == (4, True)
    rejected = await run_recall(daemon, "supersede", "rules/freeze.md", idea, "--write", "--yes")
    assert (rejected.returncode, "never in force" in rejected.stderr) == (4, True)
    already = await run_recall(daemon, "supersede", old, new, "--write", "--yes")
    assert (already.returncode, "says already" in already.stdout) == (0, True)
    for wrong in (("--why", "because"), ("--json",)):
        assert (await run_recall(daemon, "supersede", "rules/freeze.md", new, "--write", *wrong)).returncode == 2
    assert {path: path.read_bytes() for path in memory.rglob("*.md")} == before


async def test_a_repo_that_is_not_watched_is_no_empty_answer(daemon: Daemon, memory: Path) -> None:
    for asked in (("search", "rates"), ("check", str(memory / "decisions/0010-rates.md"), "--path", "a.md")):
        result = await run_recall(daemon, *asked, "--repo", "nosuch")
        assert (result.returncode, "nosuch" in result.stderr) == (1, True), asked


async def test_what_was_wrong_with_a_file_goes_with_it(client: RecallClient, memory: Path) -> None:
    broken = memory / "broken.md"
    broken.write_text("---\ntitle: [1\n---\nText.\n")
    await until_indexed(client, "memory", on_disk(memory))
    assert "broken.md" in {finding.path for finding in (await client.stats(findings=50)).findings}
    broken.unlink()
    await until_indexed(client, "memory", on_disk(memory))
    assert "broken.md" not in {finding.path for finding in (await client.stats(findings=50)).findings}


async def test_a_memo_is_checked_before_it_is_saved(daemon: Daemon, memory: Path) -> None:
    new = memory / "decisions/0030-rates.md"
    new.write_text("# Rates\n\nEach client may send 300 requests a minute.\n")
    (memory / "decisions/0031-limit.md").write_text("# Limit\n\nEach client may send 90 requests a minute.\n")
    (memory / "decisions/0032-times.md").write_text("# More times\n\nAs [[0002-times]] says, local time.\n")
    async with daemon.client() as client:
        await until_indexed(client, "memory", on_disk(memory))
    result = await run_recall(daemon, "check", str(new), "--json")
    assert result.returncode == 1
    found = {(finding["code"], finding["path"]): finding for finding in json.loads(result.stdout)["findings"]}
    assert found["contradicts", "decisions/0031-limit.md"]["suggestion"] == "supersedes: decisions/0031-limit.md"
    assert ("probably-supersedes", "decisions/0010-rates.md") in found
    new.write_text("---\nsupersedes: [0031-limit, 0010-rates]\n---\n" + new.read_text())
    assert (await run_recall(daemon, "check", str(new))).returncode == 0
    relies = await run_recall(daemon, "check", str(memory / "decisions/0032-times.md"))
    assert "relies-on-superseded" in relies.stdout
    assert "decisions/0008-clocks.md" in relies.stdout
    missing = await run_recall(daemon, "check", str(memory / "none.md"))
    assert missing.returncode != 0
    assert "there is no" in missing.stderr
