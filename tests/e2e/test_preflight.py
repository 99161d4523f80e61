"""What agents are told before an act and at a beginning, by a real daemon over files that change."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recalld.bus.client import RecallClient
from recalld.errors import NotFoundError
from tests.support.commands import run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed

FORCE = "---\ncheck: Is this branch yours alone?\n---\n# Never force-push a shared branch\n\nTwo commits were lost.\n"
FREEZE = "---\nvalid_until: 2025-07-20\ncheck: Is it frozen?\n---\n# Regatta freeze\n\nNobody deploys the regatta.\n"
HOUSE = "# House\n\n## Mails\n\nNever send bulk mails without the throttle of the sender.\n"
MEMORY = {
    "lessons/force.md": FORCE,
    "rules/freeze.md": FREEZE,
    "house/mails.md": HOUSE,
    "notes/tea.md": "# Tea\n\nIn the kitchen.\n",
}
PUSH = {"tool": "Bash", "command": "git push --force origin shared-branch"}
MAIL = {"text": "Send the bulk mails to all guests at once, around the throttle of the sender"}


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
    await until_fires(client, ["lessons/force.md"], **PUSH)
    yield root
    await client.repo_remove("memory")
    await until_fires(client, [], **PUSH)


async def until_fires(client: RecallClient, wanted: list[str], **act: str) -> None:
    """Ask until the rulebook has caught up with the index."""

    async def fires() -> bool:
        return [check.id for check in (await client.preflight(**act)).checks] == wanted

    await until(fires)


async def test_what_applies_is_told_with_its_reason(client: RecallClient, memory: Path) -> None:
    reply = await client.preflight(**PUSH)
    [check] = reply.checks
    assert (check.repo, check.path, check.check) == ("memory", "lessons/force.md", "Is this branch yours alone?")
    assert {"push", "force"} <= set(check.shared)
    assert check.confidence is not None and 0 < check.confidence < 1
    assert (reply.state, reply.guardrails) == ("ready", 1)  # the freeze is over, and house/ is no rule yet
    assert not (await client.preflight(tool="Bash", command="git log --oneline")).checks
    assert not (await client.preflight(text="Write a poem about the harbour")).checks
    with pytest.raises(NotFoundError):
        await client.preflight(**PUSH, repo=("memry",))


async def test_what_was_told_in_a_session_is_not_told_again(client: RecallClient, memory: Path) -> None:
    assert (await client.preflight(**PUSH, session="one")).checks
    assert not (await client.preflight(**PUSH, session="one")).checks
    assert (await client.preflight(**PUSH, session="two")).checks
    assert (await client.preflight(**PUSH)).checks


async def test_files_that_change_change_what_fires(client: RecallClient, memory: Path) -> None:
    lesson = memory / "lessons/force.md"
    lesson.write_text(FORCE.replace("---\ncheck", "---\nstatus: proposed\ncheck"))
    await until_fires(client, [], **PUSH)
    assert (await client.brief()).proposed == 1
    lesson.write_text(FORCE)
    await until_fires(client, ["lessons/force.md"], **PUSH)
    (memory / "lessons/newer.md").write_text("---\nsupersedes: force\n---\n# Pushes are protected\n\nBy the server.\n")
    await until_fires(client, [], **PUSH)


async def test_a_repo_maps_its_files(client: RecallClient, memory: Path) -> None:
    await until_fires(client, [], **MAIL)
    (memory / ".recall.toml").write_text('[sources]\nrule = ["house/"]\n')
    await until_fires(client, ["house/mails.md#mails"], **MAIL)
    found = await client.search(query="bulk mails", kind=("rule",))
    assert [hit.path for hit in (*found.hits, *found.withheld)][:1] == ["house/mails.md"]
    (memory / ".recall.toml").write_text("[sources]\nrule = ['../../etc/']\n[hooks]\nrun = 'x'\n")
    await until_fires(client, [], **MAIL)
    findings = (await client.get(".recall.toml")).findings
    assert [finding.code for finding in findings] == ["source-config", "source-config"]
    (memory / ".recall.toml").unlink()
    (memory / "recall.sources.json").write_text('{"paragraphs": ["house/mails.md"]}')
    await until_fires(client, ["house/mails.md#mails"], **MAIL)


async def test_a_brief_has_the_rules_that_stand(client: RecallClient, memory: Path) -> None:
    (memory / "rules/pinned.md").write_text("---\npinned: true\n---\n# Pinned\n\n## One\n\nAlways greet Maren.\n")
    (memory / "rules/plain.md").write_text("# Plain\n\n## Two\n\nNever shout.\n")

    async def is_read() -> bool:
        return (await client.brief()).guardrails == 3

    await until(is_read)
    reply = await client.brief(limit=2)
    assert [rule.check for rule in reply.rules] == ["Always greet Maren.", "Never shout."]
    assert reply.repos == ("memory",)


async def test_whom_a_repo_is_hidden_from_is_told_nothing(daemon: Daemon, client: RecallClient, tmp_path: Path) -> None:
    root = tmp_path / "private"
    (root / "lessons").mkdir(parents=True)
    (root / "lessons/force.md").write_text(FORCE)
    await client.repo_add(str(root), name="private", visible_to=("alice",))
    await until_fires(client, ["lessons/force.md"], **PUSH)
    async with daemon.client("bob") as bob:
        assert not (await bob.preflight(**PUSH)).checks
        assert (await bob.brief()).repos == ()
    await client.repo_remove("private")
    await until_fires(client, [], **PUSH)


async def test_the_commands(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    fired = await run_recall(daemon, "preflight", "--command", PUSH["command"], "--exit-code")
    assert fired.returncode == 1
    assert "Is this branch yours alone?" in fired.stdout and "memory:lessons/force.md" in fired.stdout
    silent = await run_recall(daemon, "preflight", "--command", "git status", "--exit-code")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    told = json.loads((await run_recall(daemon, "preflight", "--command", PUSH["command"], "--json")).stdout)
    assert [check["id"] for check in told["checks"]] == ["lessons/force.md"]
    assert (await run_recall(daemon, "preflight")).returncode == 2
    brief = await run_recall(daemon, "brief")
    assert brief.returncode == 0
    assert "1 rules and lessons stand in memory" in brief.stdout
