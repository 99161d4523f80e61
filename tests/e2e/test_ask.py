"""Questions answered over the bus: from memory while the answer stands, anew once it does not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import nats
import pytest

from recalld.bus import subjects, wire
from recalld.bus.client import RecallClient
from recalld.errors import DeadlineError, NotFoundError, UsageError
from recalld.store import Store
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.episodes import keep_model
from tests.support.postgres import fresh_database
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed

BROKER = "Why did we leave Kafka?"
MEMORY = {
    "decisions/0004-bus.md": "# Message bus\n\nWe left Kafka because it took two people to operate. NATS is our bus.\n",
    "decisions/0010-rates.md": "# Rates\n\nEach client may send ninety requests a minute.\n",
    "decisions/0012-cache.md": "---\nstatus: rejected\n---\n# Redis\n\nUse Redis as the cache of berth prices.\n",
    "notes/queues.md": (
        "# Queues\n\n- The bookings queue takes bookings from the web.\n- The invoices queue takes invoices at night.\n"
    ),
    "rules/backups.md": "# Backups\n\nBackups of the ledger are kept for thirty days in Bergen.\n",
}


@pytest.fixture(scope="module")
async def place(postgres_server: str) -> AsyncIterator[str]:
    """The dsn of the module's daemon."""
    async with fresh_database(postgres_server, None) as dsn:
        yield dsn


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str, place: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", RECALLD_EMBED__MODEL="minilm", RECALLD_STORE__DSN=place) as started:
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


@pytest.fixture
async def store(place: str) -> AsyncIterator[Store]:
    """The daemon's own store; models that a test keeps in it go with the test."""
    opened = await Store.open(place)
    yield opened
    await opened.aclose()
    connection = await asyncpg.connect(place)
    await connection.execute("DELETE FROM episode_calibration")
    await connection.close()


async def twice(client: RecallClient, question: str, **fields: object) -> wire.AskReply:
    """Ask until memory answers, which is the second time."""
    first = await client.ask(question, **fields)
    assert first.source != "abstained", first.reason
    second = await client.ask(question, **fields)
    assert second.source == "memory", (second.source, second.stale, second.path)
    assert second.answer == first.answer
    return second


async def test_a_question_is_answered_once(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    first = await client.ask(BROKER)
    assert (first.source, first.abstained, first.stale, first.scope) == ("retrieval", False, "", "single")
    assert "two people to operate" in first.answer
    assert (first.quoted, first.answerer) == (True, "extractive")
    [citation] = [one for one in first.citations if one.path == "decisions/0004-bus.md"]
    assert f"[{citation.number}]" in first.answer
    again = await client.ask("why did we leave   KAFKA")
    assert (again.source, again.answer, again.citations) == ("memory", first.answer, first.citations)
    assert (again.memory_similarity, again.episode) == (1.0, first.episode)
    assert [step.step for step in again.path] == ["session", "lookup", "serve", "receipt"]
    [receipt] = (await client.receipts(id=again.receipt)).receipts
    assert [one.path for one in receipt.citations] == sorted({one.path for one in first.citations})
    async with daemon.client("bob") as other:
        assert (await other.ask(BROKER)).source == "memory"


async def test_other_words_are_served_where_it_is_sure(client: RecallClient, memory: Path, store: Store) -> None:
    first = await client.ask("How long are backups of the ledger kept?")
    near = "how long do we keep the backups of the ledger"
    await keep_model(store)
    reply = await client.ask(near)
    assert (reply.source, reply.answer) == ("memory", first.answer), reply.path
    assert reply.memory_similarity is not None
    assert 0.6 < reply.memory_similarity < 1.0
    for other in (
        "How long are backups of the ledger not kept?",
        "Where are backups of the ledger kept?",
        "How long are backups of the bookings kept?",
        "Who painted the harbour wall blue?",
    ):
        assert (await client.ask(other)).source in ("retrieval", "abstained"), other


async def test_a_list_answers_no_single_question(client: RecallClient, memory: Path, store: Store) -> None:
    await keep_model(store)
    many = await client.ask("Which queues do we have?")
    assert many.scope == "set"
    assert "bookings queue" in many.answer
    assert "invoices queue" in many.answer
    one = await client.ask("Which queue do we have?")
    assert one.source != "memory"
    assert one.scope == "single"


async def test_an_edit_is_seen_at_once(client: RecallClient, memory: Path) -> None:
    question = "How many requests may each client send a minute?"
    assert "ninety" in (await twice(client, question)).answer
    for limit in ("seventy", "forty", "eleven"):
        (memory / "decisions/0010-rates.md").write_text(f"# Rates\n\nEach client may send {limit} requests a minute.\n")
        reply = await client.ask(question)
        assert limit in reply.answer, (reply, reply.path)
        assert reply.source == "retrieval"
        assert "changed" in reply.stale
        assert limit in (await client.ask(question)).answer


async def test_a_deleted_file_answers_nothing(client: RecallClient, memory: Path) -> None:
    await twice(client, BROKER)
    (memory / "decisions/0004-bus.md").unlink()
    reply = await client.ask(BROKER)
    assert reply.source in ("retrieval", "abstained")
    assert "two people" not in reply.answer
    assert reply.stale


async def test_what_is_superseded_is_not_served(client: RecallClient, memory: Path) -> None:
    question = "How many requests may each client send a minute?"
    await twice(client, question)
    (memory / "decisions/0020-rates.md").write_text(
        "---\nsupersedes: 0010-rates\n---\n# Rates again\n\nEach client may send three hundred requests a minute.\n"
    )
    await until_indexed(client, "memory", on_disk(memory))
    reply = await client.ask(question)
    assert "superseded" in reply.stale
    assert "three hundred" in reply.answer
    assert "ninety" not in reply.answer


async def test_a_new_document_that_speaks_of_it_makes_an_answer_stale(client: RecallClient, memory: Path) -> None:
    question = "Why did we leave Kafka for NATS in the harbour?"
    await twice(client, question)
    (memory / "notes/kafka.md").write_text(
        "# Kafka\n\nWe did leave Kafka for NATS in the harbour because of its price.\n"
    )
    await until_indexed(client, "memory", on_disk(memory))
    reply = await client.ask(question)
    assert reply.stale == "notes/kafka.md was written since, and may speak of it"
    assert "price" in reply.answer
    (memory / "notes/gulls.md").write_text("# Gulls\n\nGulls nest on the roof in May.\n")
    await until_indexed(client, "memory", on_disk(memory))
    assert (await client.ask(question)).source == "memory"


async def test_what_ends_by_the_clock_is_not_served(client: RecallClient, memory: Path) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=6)
    (memory / "rules/freeze.md").write_text(
        f"---\nvalid_until: {end.isoformat(timespec='seconds')}\n---\n# Freeze\n\nNobody deploys during the regatta.\n"
    )
    await until_indexed(client, "memory", on_disk(memory))
    question = "Who deploys during the regatta?"
    assert "Nobody deploys" in (await twice(client, question)).answer

    async def over() -> bool:
        return (await client.ask(question)).source != "memory"

    await until(over, 15)
    assert datetime.now(UTC) >= end
    assert "Nobody deploys" not in (await client.ask(question)).answer


async def test_the_clocks_are_part_of_the_question(client: RecallClient, memory: Path) -> None:
    (memory / "rules/freeze.md").write_text(
        "---\nvalid_until: 2025-07-20\n---\n# Freeze\n\nNobody deploys during the regatta.\n"
    )
    await until_indexed(client, "memory", on_disk(memory))
    question = "Do people deploy during the regatta?"
    then = datetime(2025, 7, 1, tzinfo=UTC)
    assert "Nobody" in (await twice(client, question, as_of=then)).answer
    assert "Nobody" not in (await client.ask(question)).answer
    assert (await client.ask(question, as_of=then + timedelta(days=1))).source == "retrieval"
    assert (await client.ask(question, as_of=then)).source == "memory"
    assert "Nobody" not in (await client.ask(question, as_of=then + timedelta(days=60))).answer


async def test_nobody_is_answered_from_what_it_may_not_see(
    daemon: Daemon, client: RecallClient, memory: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "vault.md").write_text("# Vault\n\nThe vault of the harbour opens with the code 4711.\n")
    await client.repo_add(str(secret), name="secret", visible_to=("alice",))
    await until_indexed(client, "secret", on_disk(secret))
    question = "With which code does the vault of the harbour open?"
    own = await twice(client, question)
    assert "4711" in own.answer
    async with daemon.client("bob") as bob:
        reply = await bob.ask(question)
        assert "4711" not in reply.model_dump_json()
        with pytest.raises(NotFoundError):
            await bob.episodes(id=int(own.episode or 0))
        with pytest.raises(NotFoundError):
            await bob.episodes_mark(id=int(own.episode or 0), outcome="forget")
        assert "4711" not in (await bob.episodes()).model_dump_json()
    await client.repo_remove("secret")
    assert "4711" not in (await client.ask(question)).answer


async def test_fresh_derives_anew(client: RecallClient, memory: Path) -> None:
    first = await twice(client, BROKER)
    fresh = await client.ask(BROKER, fresh=True)
    assert (fresh.source, fresh.answer) == ("retrieval", first.answer)
    assert fresh.episode != first.episode
    after = await client.ask(BROKER)
    assert (after.source, after.episode) == ("memory", fresh.episode)


@pytest.mark.parametrize("fitted", [False, True])
async def test_an_answer_that_failed_is_derived_anew(
    client: RecallClient, memory: Path, store: Store, fitted: bool
) -> None:
    if fitted:
        await keep_model(store)
    first = await twice(client, BROKER)
    await client.episodes_mark(id=int(first.episode or 0), outcome="failed")
    reply = await client.ask(BROKER)
    assert reply.source != "memory", reply.path
    assert reply.memory_confidence is not None
    [view] = (await client.episodes(id=int(first.episode or 0))).episodes
    assert (view.failed, view.served) == (1, 1)


async def test_a_marked_answer_is_forgotten(client: RecallClient, memory: Path) -> None:
    first = await twice(client, BROKER)
    id_ = int(first.episode or 0)
    [view] = (await client.episodes_mark(id=id_, outcome="helped")).episodes
    assert (view.helped, view.ended) == (1, "")
    assert (await client.ask(BROKER)).source == "memory"
    [view] = (await client.episodes_mark(id=id_, outcome="forget")).episodes
    assert view.ended == "forgotten by alice"
    assert (await client.ask(BROKER)).source == "retrieval"
    listed = await client.episodes(ended=True)
    assert id_ in [one.id for one in listed.episodes]
    assert id_ not in [one.id for one in (await client.episodes()).episodes]
    with pytest.raises(NotFoundError):
        await client.episodes_mark(id=10**9, outcome="helped")


async def test_what_was_turned_down_is_a_no(client: RecallClient, memory: Path) -> None:
    question = "Do we use Redis as the cache of berth prices?"
    first = await client.ask(question)
    assert (first.negative, first.source) == (True, "retrieval")
    assert first.answer.startswith("The memory has this as turned down")
    assert (await client.ask(question)).negative
    evidence = await client.evidence(question)
    assert (evidence.stance, evidence.abstained) == ("negative", False)
    assert "status: rejected" in evidence.text
    assert evidence.tokens <= evidence.budget


async def test_what_was_turned_down_is_told_from_what_was_adopted(client: RecallClient, memory: Path) -> None:
    (memory / "decisions/0030-prices.md").write_text(
        "---\nstatus: accepted\n---\n# Berth prices\n\nBerth prices are cached in memory. Use it for an hour.\n"
    )
    await until_indexed(client, "memory", on_disk(memory))
    for question in ("Which cache of berth prices do we use?", "Are berth prices cached in memory for an hour?"):
        reply = await client.ask(question)
        by_number = {one.number: one.path for one in reply.citations}
        for line in reply.answer.splitlines():
            rejected = any(f"[{number}]" in line and "0012" in path for number, path in by_number.items())
            assert line.removeprefix("- ").startswith("The memory has this as turned down") == rejected, reply.answer
        assert reply.negative == (question.startswith("Are") and "0012" in reply.citations[0].path)


async def test_follow_ups_are_taken_with_what_was_said(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    first = await client.ask(BROKER, session="review")
    assert (first.session, first.standalone) == ("review", BROKER)
    second = await client.ask("And when?", session="review")
    assert second.standalone == "Why did we leave Kafka? And when?"
    third = await client.ask("How long are backups of the ledger kept?", session="review")
    assert third.standalone == third.query
    shown = await client.sessions(id="review")
    assert [one.role for one in shown.said] == ["user", "memory"] * 3
    assert shown.said[2].standalone == second.standalone
    assert (shown.sessions[0].title, shown.sessions[0].messages) == (BROKER, 6)
    async with daemon.client("bob") as bob:
        assert (await bob.sessions()).sessions == ()
        other = await bob.ask("And when?", session="review")
        assert other.standalone == "And when?"
        with pytest.raises(NotFoundError):
            await bob.sessions(id="nobodys")
    await client.sessions_edit(action="rename", id="review", title="The bus")
    assert [one.title for one in (await client.sessions()).sessions] == ["The bus"]
    await client.sessions_edit(action="delete", id="review")
    with pytest.raises(NotFoundError):
        await client.sessions(id="review")
    with pytest.raises(UsageError):
        await client.ask(BROKER, session="no such/id")


async def test_an_answer_comes_in_parts(client: RecallClient, memory: Path) -> None:
    for source in ("retrieval", "memory"):
        said, steps = "", []
        async with client.asking(BROKER) as parts:
            async for part in parts:
                if isinstance(part, wire.AskPart):
                    said, steps = said + part.text, [*steps, part.step] if part.step else steps
                    continue
                assert part.source == source
                assert said == part.answer
                assert steps == [one.step for one in part.path]


async def test_who_leaves_early_or_never_listens_is_not_worked_for(
    daemon: Daemon, client: RecallClient, memory: Path, store: Store
) -> None:
    async with client.asking(BROKER, fresh=True) as parts:
        async for part in parts:
            assert isinstance(part, wire.AskPart)
            break

    async def called_off() -> bool:
        return await _gone(daemon) > 0

    await until(called_off)
    request = wire.AskRequest(query="What is never heard?", stream=True).model_dump_json().encode()
    connection = client._open()
    before = await _gone(daemon)
    await connection.publish(subjects.request("alice", "ask"), request, reply=connection.client.new_inbox())

    async def called_off_again() -> bool:
        return await _gone(daemon) > before

    await until(called_off_again)
    assert "what is never heard" not in {one.normal for one in await store.episodes.listed(None, True, 99)}
    assert (await client.ask(BROKER)).answer


async def _gone(daemon: Daemon) -> int:
    """Count the questions that ended because nobody listened any more; the last error must be such a one."""
    credentials = daemon.credentials()
    bus = await nats.connect(credentials.url, user=credentials.user, password=credentials.password)
    told = json.loads((await bus.request("$SRV.STATS.recalld", b"", timeout=5)).data)
    await bus.close()
    [ask] = [each for each in told["endpoints"] if each["name"] == "ask"]
    return int(ask["num_errors"]) if ask["last_error"].startswith("gone") else 0


async def test_a_deadline_is_kept(client: RecallClient, memory: Path) -> None:
    with pytest.raises(DeadlineError):
        await client.ask(BROKER, fresh=True, deadline_ms=1)
    with pytest.raises(DeadlineError):
        async with client.asking(BROKER, fresh=True, deadline_ms=1) as parts:
            async for _ in parts:
                pass
    assert (await client.ask(BROKER)).answer
