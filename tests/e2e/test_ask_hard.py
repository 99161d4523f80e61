"""Hard cases of asking: at once, hostile, narrowed, touched, unreachable; and the command line."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import RecalldError, UsageError
from recalld.store import Store
from tests.support.commands import run, run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.episodes import keep_model
from tests.support.postgres import fresh_database
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed

BROKER = "Why did we leave Kafka?"
HOSTILE = [
    "\x00", "?", "…!", "\u202e🙂", "'; DROP TABLE episode; --", "“[1]” [2] {{x}}", "a" * 8_000, "to over into " * 600,
    "is not " * 1_100, "`" * 8_000, "- " * 4_000, "Why did we leave Kafka?\x00",
]  # fmt: skip


@pytest.fixture(scope="module")
async def place(postgres_server: str) -> AsyncIterator[str]:
    async with fresh_database(postgres_server, None) as dsn:
        yield dsn


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str, place: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm", RECALLD_STORE__DSN=place) as started:
            yield started


@pytest.fixture(scope="module")
async def root(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Path]:
    made = tmp_path_factory.mktemp("memory")
    (made / "bus.md").write_text("# Message bus\n\nWe left Kafka because it took two people to operate.\n")
    (made / "notes").mkdir()
    for number in range(30):
        (made / "notes" / f"{number}.md").write_text(f"# Note {number}\n\n" + f"Berth {number} is for ferries. " * 30)
    async with daemon.client("alice") as client:
        await client.repo_add(str(made), name="memory")
        await until_indexed(client, "memory", on_disk(made))
    yield made


@pytest.fixture
async def client(daemon: Daemon, root: Path) -> AsyncIterator[RecallClient]:
    async with daemon.client("alice") as connected:
        yield connected


async def test_many_who_ask_one_new_question_at_once_are_all_answered(client: RecallClient, place: str) -> None:
    question, replies = "What did it take to operate Kafka before we left it?", list[wire.AskReply]()

    async def ask() -> None:
        replies.append(await client.ask(question))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(ask)
    assert len({reply.answer for reply in replies}) == 1
    assert all("two people" in reply.answer and reply.notes == () for reply in replies)
    standing = [one for one in (await client.episodes(limit=100)).episodes if one.question == question]
    assert len(standing) == 1


async def test_no_question_does_harm(client: RecallClient, place: str) -> None:
    store = await Store.open(place)
    await keep_model(store)
    await store.aclose()
    for question in HOSTILE * 2:
        with anyio.fail_after(10):
            if not any(character.isalnum() for character in question):
                with pytest.raises(UsageError, match="no word"):
                    await client.ask(question, session="hostile")
                continue
            reply = await client.ask(question, session="hostile")
        assert reply.query == question
    assert "two people" in (await client.ask(BROKER)).answer
    said = (await client.sessions(id="hostile", limit=100)).said
    in_words = [question for question in HOSTILE * 2 if any(character.isalnum() for character in question)]
    assert [one.text for one in said if one.role == "user"] == in_words


@pytest.mark.parametrize("text", ["", "x" * 8_001])
async def test_what_is_no_question_is_refused(client: RecallClient, text: str) -> None:
    with pytest.raises((RecalldError, ValueError)):
        await client.ask(text)


async def test_what_narrows_a_question_is_a_part_of_it(client: RecallClient) -> None:
    await client.ask(BROKER)
    assert (await client.ask(BROKER)).source == "memory"
    narrowed = await client.ask(BROKER, path="notes/**")
    assert narrowed.source != "memory"
    assert "Kafka" not in narrowed.answer
    for fields in (
        {"budget": 64},
        {"kind": ("decision",)},
        {"tag": ("bus",)},
        {"mode": "lexical"},
        {"repo": ("memory",)},
    ):
        first = await client.ask(BROKER, **fields)
        if fields != {"repo": ("memory",)}:  # which is all that there is
            assert first.source != "memory", fields
    with pytest.raises(RecalldError):
        await client.ask(BROKER, repo=("nowhere",))


async def test_a_file_that_is_only_touched_says_what_it_said(client: RecallClient, root: Path) -> None:
    await client.ask(BROKER)
    content = (root / "bus.md").read_text()
    os.utime(root / "bus.md", (1_900_000_000, 1_900_000_000))
    assert (await client.ask(BROKER)).source == "memory"
    (root / "bus.md").write_text(content)
    assert (await client.ask(BROKER)).source == "memory"


@pytest.mark.parametrize("order", ["rank", "ends"])
@pytest.mark.parametrize("budget", [64, 200, 700, 3_000, 32_000])
async def test_evidence_keeps_its_budget(client: RecallClient, budget: int, order: str) -> None:
    reply = await client.evidence("Which berth is for ferries?", budget=budget, order=order)
    assert (reply.budget, reply.counted_by) == (budget, "minilm")
    assert 0.9 * min(budget, 3_000) <= reply.tokens <= budget
    assert [one.number for one in reply.passages] == list(range(1, len(reply.passages) + 1))
    assert all(one.text in reply.text for one in reply.passages)
    [receipt] = (await client.receipts(id=reply.receipt)).receipts
    assert {one.path for one in receipt.citations} == {one.path for one in reply.passages}


@pytest.mark.parametrize("words", [("ask", "x"), ("ask", "x", "--stream"), ("evidence", "x"), ("episodes", "list")])
async def test_no_daemon_is_told(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = await run_recall(Daemon(tmp_path / "none"), *words)
    assert result.returncode == 3, result.stderr


async def test_the_command_line(daemon: Daemon, root: Path) -> None:
    result = await run_recall(daemon, "ask", BROKER, "--agent", "alice", "--fresh")
    assert result.returncode == 0, result.stderr
    assert "two people to operate" in result.stdout
    assert "derived now" in result.stdout
    streamed = await run_recall(daemon, "ask", "why", "did", "we", "leave", "Kafka", "--stream")
    assert streamed.stdout.count("two people to operate") == 1
    assert "from memory" in streamed.stdout
    both = await run_recall(daemon, "ask", BROKER, "--stream", "--json", "--trace")
    reply = json.loads(both.stdout)
    assert (reply["source"], reply["abstained"]) == ("memory", False)
    assert "two people" in both.stderr
    nothing = await run_recall(daemon, "ask", "who painted it", "--path", "none/**")
    assert nothing.returncode == 1
    assert "I don't know" in nothing.stdout
    evidence = await run_recall(daemon, "evidence", BROKER, "--budget", "200", "--order", "ends")
    assert evidence.returncode == 0
    assert evidence.stdout.startswith("[1] memory:")
    assert "tokens as minilm counts them" in " ".join(evidence.stderr.split())
    assert (await run_recall(daemon, "evidence", "painted", "--path", "none/**")).returncode == 1
    assert (await run_recall(daemon, "evidence", BROKER, "--order", "worst")).returncode == 2
    assert (await run_recall(daemon, "ask", BROKER, "--budget", "1")).returncode == 2
    assert (await run_recall(daemon, "ask", BROKER, "--session", "a b")).returncode == 2


async def test_sessions_and_episodes_on_the_command_line(daemon: Daemon, root: Path) -> None:
    asked = json.loads((await run_recall(daemon, "ask", BROKER, "--session", "cli", "--json")).stdout)
    assert "cli" in (await run_recall(daemon, "sessions", "list")).stdout
    shown = await run_recall(daemon, "sessions", "show", "cli")
    assert "two people to operate" in shown.stdout
    assert (await run_recall(daemon, "sessions", "rename", "cli", "Bus")).returncode == 0
    made = json.loads((await run_recall(daemon, "sessions", "create", "--title", "x", "--json")).stdout)
    assert made["sessions"][0]["title"] == "x"
    assert (await run_recall(daemon, "sessions", "delete", "cli")).returncode == 0
    assert (await run_recall(daemon, "sessions", "show", "cli")).returncode == 1
    listed = json.loads((await run_recall(daemon, "episodes", "list", "--json")).stdout)
    assert int(asked["episode"]) in [one["id"] for one in listed["episodes"]] or asked["source"] == "memory"
    assert "by extractive" in (await run_recall(daemon, "episodes", "show", asked["episode"])).stdout
    assert "failed 1" in (await run_recall(daemon, "episodes", "mark", asked["episode"], "failed")).stdout
    assert (await run_recall(daemon, "episodes", "mark", asked["episode"], "liked")).returncode == 2
    assert "served no longer" in (await run_recall(daemon, "episodes", "forget", asked["episode"])).stdout
    assert (await run_recall(daemon, "episodes", "show", "999999")).returncode == 1


@pytest.mark.parametrize("command", ["ask", "evidence", "sessions", "sessions show", "episodes", "episodes mark"])
def test_help_tells_what_it_does(command: str) -> None:
    shown = run(f"recall {command} --help")
    assert shown.exit_code == 0
    assert f"Usage: recall {command}" in shown.stdout
