"""The scene of a mistake that is made once: a command fails, that becomes a lesson, and the next one is warned."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from shutil import which
from typing import Any

import anyio
from anyio import to_thread

from recalld.bus.client import RecallClient
from recalld.bus.wire import LessonView
from recalld.demo.scene import Scene, Tell
from recalld.demo.throwaway import REPO, ThrowAway
from recalld.errors import DependencyError

FAILED = "terraform -chdir=infra apply -auto-approve"
ERROR = "Exit code 1\nError: Error acquiring the state lock: ConditionalCheckFailedException, held by maren"
NEXT = "terraform -chdir=infra apply -target=module.webcam"
SOUNDING = "npm run apply-theme -- --dir infra-colours"
SPEAKS_S = 30.0
POLL_S = 0.02


async def tell_lesson(daemon: ThrowAway, client: RecallClient, tell: Tell) -> None:
    """Tell it, through the hook as an agent's program runs it. Raises DependencyError where it does not come true."""
    failure = {"tool_name": "Bash", "tool_input": {"command": FAILED}, "error": ERROR}
    await _hook(daemon, "PostToolUseFailure", failure, "--capture")
    lesson = await _proposed(client)
    silent = await _hook(daemon, "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": NEXT}})
    await client.review(ref=lesson.path, action="accept", repo=REPO)
    committed = await to_thread.run_sync(_commit, daemon, lesson.path)
    told, took_ms = await _until_told(daemon)
    sounding = await _hook(daemon, "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": SOUNDING}})
    tell(
        Scene(
            "A mistake that is made once",
            f"An agent ran `{FAILED}`, and it failed: somebody held the lock. Its hook made a proposed lesson of that, "
            f"an ordinary file, {lesson.path}, which {'says nothing' if not silent else 'speaks'} until somebody "
            f"accepts it. Somebody did{committed}. Before the next such command, `{NEXT}`, the agent is told in "
            f"{took_ms:.0f} ms, a whole process; before `{SOUNDING}`, which only sounds alike, "
            f"{'nothing is said' if not sounding else 'something is said, too'}.",
            took_ms=took_ms,
            answer=lesson.path,
            shown=tuple(told.splitlines()),
        )
    )


async def _proposed(client: RecallClient) -> LessonView:
    """Return the lesson that the failure became, once the index has it."""
    with anyio.move_on_after(SPEAKS_S):
        while True:
            if found := (await client.lessons(proposed=True, repo=REPO)).lessons:
                return found[0]
            await anyio.sleep(POLL_S)
    raise DependencyError("the failure did not become a lesson")


async def _until_told(daemon: ThrowAway) -> tuple[str, float]:
    """Return what is told before the next such command, once the lesson speaks, and how long asking took (ms)."""
    asked = {"tool_name": "Bash", "tool_input": {"command": NEXT}}
    with anyio.move_on_after(SPEAKS_S):
        while True:
            begun = time.perf_counter()
            if told := await _hook(daemon, "PreToolUse", asked):
                return told, (time.perf_counter() - begun) * 1e3
            await anyio.sleep(POLL_S)
    raise DependencyError(f"the lesson did not speak within {SPEAKS_S:.0f} s")


async def _hook(daemon: ThrowAway, event: str, given: dict[str, Any], *options: str) -> str:
    """Run the hook as Claude Code does; return what the agent is told."""
    spec = find_spec("recalld_plugins.claude_code.hook")
    if spec is None or spec.origin is None:
        raise DependencyError("the hook is not installed with this recalld")
    state = str(daemon.home / "state")
    command = [sys.executable, "-I", "-S", spec.origin, event, "--state-dir", state, "--repo", REPO, *options]
    command += ["--budget-ms", "10000"]  # a busy machine shall not change the story
    done = await to_thread.run_sync(_run(command, json.dumps(given).encode()))
    answer = json.loads(done)["hookSpecificOutput"] if done else {}
    return str(answer.get("additionalContext", ""))


def _run(command: list[str], given: bytes) -> Callable[[], bytes]:
    return lambda: subprocess.run(command, input=given, capture_output=True, check=True).stdout


def _commit(daemon: ThrowAway, path: str) -> str:
    """Commit the lesson as a person would, where there is git; return how the story tells of it."""
    git = which("git")
    if git is None:
        return ""
    within = [git, "-C", str(daemon.memory), "-c", "user.name=demo", "-c", "user.email=demo@example.org"]
    for arguments in (("init", "-q"), ("add", "--", path), ("commit", "-q", "-m", "A lesson on the state lock")):
        subprocess.run([*within, *arguments], check=True, capture_output=True)
    return ", and committed it"
