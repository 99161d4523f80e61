"""The life of lessons with a real daemon: a failure becomes one, it speaks, is put away, merged, and brought back."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from recalld.bus.client import RecallClient
from recalld.errors import NotFoundError, RefusedError, UsageError
from tests.support.commands import run_recall
from tests.support.daemon import Daemon, running
from tests.support.directories import short_directory
from tests.support.hook import bash, run_hook
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed

APPLY = "terraform -chdir=infra apply -auto-approve"
ERROR = "Exit code 1\nError: Error acquiring the state lock: ConditionalCheckFailedException, held by maren"
HUMAN = "# Tea\n\nAlways ask Jo.\n"


@pytest.fixture(scope="module")
async def daemon(anyio_backend: str) -> AsyncIterator[Daemon]:
    with short_directory() as directory:
        async with running(directory / "state", RECALLD_LESSONS__GRACE_DAYS="0") as started:
            yield started


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[RecallClient]:
    async with daemon.client("alice") as connected:
        yield connected


@pytest.fixture
async def memory(client: RecallClient, tmp_path: Path) -> AsyncIterator[Path]:
    root = tmp_path / "memory"
    (root / "lessons").mkdir(parents=True)
    (root / "lessons/tea.md").write_text(HUMAN)
    git(root, "init", "-q")
    await client.repo_add(str(root), name="memory")
    await until_indexed(client, "memory", on_disk(root))
    yield root
    await client.repo_remove("memory")


def git(root: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(root), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def machine_written(root: Path) -> list[Path]:
    return [path for path in sorted((root / "lessons").glob("*.md")) if path.name != "tea.md"]


async def test_a_failure_is_captured_distilled_committed_and_fires_on_the_next_such_act(
    daemon: Daemon, client: RecallClient, memory: Path
) -> None:
    where = ("--state-dir", str(daemon.state_dir))
    failure = {**bash(APPLY), "hook_event_name": "PostToolUseFailure", "error": ERROR}
    assert (await run_hook("PostToolUseFailure", failure, *where, "--capture")).silent
    [lesson] = machine_written(memory)
    assert "status: proposed" in lesson.read_text()
    assert "state lock" in lesson.read_text()

    async def is_proposed() -> bool:
        return (await client.brief()).proposed == 1

    await until(is_proposed)
    assert (await run_hook("PreToolUse", bash(APPLY), *where)).silent  # nobody has accepted it

    accepted = await run_recall(daemon, "lessons", "accept", f"lessons/{lesson.name}")
    assert accepted.returncode == 0, accepted.stderr
    assert "proposed" not in lesson.read_text()
    git(memory, "add", "-A")
    git(memory, "commit", "-qm", "A lesson on the state lock")
    linted = await run_recall(daemon, "lint", str(memory))
    assert linted.returncode == 0, linted.stdout

    async def speaks() -> bool:
        return bool((await client.preflight(tool="Bash", command=APPLY)).checks)

    await until(speaks)
    told = await run_hook("PreToolUse", bash("terraform -chdir=infra apply -target=module.db"), *where)
    assert f"memory:lessons/{lesson.name}" in told.told
    sounding = "npm run apply-theme -- --dir infra-colours"
    assert (await run_hook("PreToolUse", bash(sounding), *where)).silent
    assert (await run_hook("PreToolUse", bash("terraform -chdir=infra plan"), *where)).silent

    assert (await run_hook("PostToolUseFailure", failure, *where, "--capture")).silent
    assert machine_written(memory) == [lesson]
    assert "seen_count: 2" in lesson.read_text()
    assert git(memory, "diff", "--stat").count("|") == 1


async def test_a_lesson_that_nobody_needs_is_put_away_and_brought_back_byte_for_byte(
    daemon: Daemon, client: RecallClient, memory: Path
) -> None:
    learned = await client.learn(title="Bulk mails", check="Is the sender throttled?", body="212 went to spam.")
    pinned = await client.learn(title="Never dump at noon", check="Is it night?", body="The disk was full.")
    await until_indexed(client, "memory", on_disk(memory))
    await client.review(ref=pinned.path, action="pin")
    before = (memory / learned.path).read_bytes()
    await until_indexed(client, "memory", on_disk(memory))
    proposed = await run_recall(daemon, "prune", "--json")
    [view] = json.loads(proposed.stdout)["repos"]
    assert view["proposed"] == [learned.path]
    assert {one["path"] for one in view["kept"]} == {"lessons/tea.md", pinned.path}
    assert (memory / learned.path).exists()

    [view] = json.loads((await run_recall(daemon, "prune", "--apply", "--json")).stdout)["repos"]
    archived = memory / "lessons" / "archive" / view["run"]
    assert not (memory / learned.path).exists()
    assert [path.read_bytes() for path in archived.rglob("*.md")] == [before]
    with pytest.raises(NotFoundError):
        await client.get(learned.path)
    undone = await run_recall(daemon, "undo", view["run"])
    assert undone.returncode == 0, undone.stderr
    assert (memory / learned.path).read_bytes() == before
    assert (await run_recall(daemon, "undo", view["run"])).returncode == 4
    assert (memory / "lessons/tea.md").read_text() == HUMAN


async def test_two_that_say_the_same_are_merged_when_told_and_come_back(
    daemon: Daemon, client: RecallClient, memory: Path
) -> None:
    one = await client.learn(title="Retries need jitter", check="Does each retry wait?", body="They hammered at once.")
    text = (memory / one.path).read_text()
    twin = memory / "lessons/retries-again.md"
    twin.write_text(text)
    before = {path.name: path.read_bytes() for path in machine_written(memory)}
    await until_indexed(client, "memory", on_disk(memory))
    [group] = (await client.consolidate()).groups
    assert set(group.paths) == {one.path, "lessons/retries-again.md"}
    assert group.why_not == ""
    [merged] = (await client.consolidate(accept=(group.id,))).groups
    assert [path.name for path in machine_written(memory)] == [Path(merged.into).name]
    assert (await run_recall(daemon, "undo", merged.run)).returncode == 0
    assert {path.name: path.read_bytes() for path in machine_written(memory)} == before
    with pytest.raises(NotFoundError):
        await client.consolidate(accept=("nonesuch",))


async def test_what_is_counted_and_what_an_audit_says(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    lesson = await client.learn(title="Force pushes lose commits", check="Is this branch yours?", body="Two were lost.")
    act = {"tool": "Bash", "command": "git push --force origin branch: commits lost"}

    async def speaks() -> bool:
        return bool((await client.preflight(**act)).checks)

    await until(speaks)
    marked = await run_recall(daemon, "mark", lesson.path, "--outcome", "helped", "--json")
    assert json.loads(marked.stdout)["helped"] == 1

    async def is_counted() -> bool:
        views = {one.path: one.use for one in (await client.lessons()).lessons}
        return views[lesson.path].surfaced >= 1 and views[lesson.path].helped == 1

    await until(is_counted)
    [view] = (await client.audit()).repos
    assert lesson.path not in view.never_used and "lessons/tea.md" in view.never_used
    assert view.surfaced_tokens > 0 and view.loaded_tokens > view.surfaced_tokens / max(view.surfacings, 1)
    assert (await run_recall(daemon, "audit")).returncode == 0
    assert (await run_recall(daemon, "mark", "lessons/no.md", "--outcome", "helped")).returncode == 1
    assert (await run_recall(daemon, "mark", lesson.path, "--outcome", "so-so")).returncode == 2


async def test_what_is_refused(client: RecallClient, memory: Path) -> None:
    with pytest.raises(RefusedError, match=r"secret|token|key"):
        await client.learn(title="Keys", check="Is it gone?", body="aws = AKIAQYLPMN5HHHFPZAM2")
    with pytest.raises(UsageError):
        await client.learn(title="   ", check="x")
    with pytest.raises(RefusedError):
        await client.review(ref="lessons/tea.md", action="reject")
    long = "The berth of the harbour master is never given to guests, whatever the reason may be, not even in a storm."
    (memory / "berths.md").write_text(f"# Berths\n\n{long}\n")
    await until_indexed(client, "memory", on_disk(memory))
    found = await client.search(query="berth of the harbour master given to guests")
    assert "berths.md" in {hit.path for hit in found.hits}
    with pytest.raises(RefusedError, match=r"berths\.md"):
        await client.learn(title="Berths", check="Whose is it?", body=long)
    assert machine_written(memory) == []


async def test_a_repo_may_have_lessons_wait_and_lie_elsewhere(client: RecallClient, memory: Path) -> None:
    (memory / ".recall.toml").write_text('[lessons]\nfolder = "notes/lessons"\nproposed = true\n')
    await until_indexed(client, "memory", on_disk(memory))
    learned = await client.learn(title="Tides", check="Is it high?", body="The boat lay dry.")
    assert (learned.path, learned.status) == ("notes/lessons/tides.md", "proposed")


async def test_maintenance_is_one_pass(daemon: Daemon, client: RecallClient, memory: Path) -> None:
    passed = await run_recall(daemon, "maintain", "--json")
    assert passed.returncode == 0, passed.stdout
    steps = json.loads(passed.stdout)["steps"]
    assert [step["name"] for step in steps] == ["audit", "prune", "consolidate", "episodes", "lint", "verify"]
    job = await run_recall(daemon, "jobs", "run", "maintain", "--wait", "--json")
    assert job.returncode == 0, job.stderr
