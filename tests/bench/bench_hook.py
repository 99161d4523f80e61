"""The hook as Claude Code runs it, before a command that a lesson applies to: whole processes, against an empty Python.

500 lessons of the set of bench_preflight are matched behind the verb, on a real NATS server that asks for a password.
The runs take turns, so that all see the same machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import anyio
from anyio import to_thread

from recalld.bus import wire
from recalld.cli.hook import hook_file
from recalld.cli.hook_settings import Hook
from recalld.lessons.guardrail import Action
from recalld.lessons.match import Matcher
from tests.bench.bench_preflight import _many, acts, guardrails
from tests.bench.figure import Figure, median, quantile, report
from tests.support.bus import connected
from tests.support.directories import short_directory
from tests.support.hook import Verbs, state_dir
from tests.support.nats import fresh_nats

LESSONS = 500
ROUNDS = 100
RATIO_BAR, TIME_BAR_MS = 2.5, 60.0
GONE = "nats://127.0.0.1:1"


def checks(matcher: Matcher) -> Verbs:
    """Return verbs whose preflight matches as the daemon does."""

    def match(request: wire.PreflightRequest) -> Sequence[wire.GuardrailView]:
        found = matcher.match(Action(request.text, request.tool, request.path, request.command))
        return [
            wire.GuardrailView(
                id=one.guardrail.id, repo="memory", path=one.guardrail.id, title=one.guardrail.title,
                check=one.guardrail.check, kind="lesson", shared=one.shared, confidence=one.confidence,
            )
            for one in found
        ]  # fmt: skip

    return Verbs(checks=match)


def event(matcher: Matcher) -> bytes:
    """Return what Claude Code sends before a command of the set for which a lesson fires."""
    commands = [row["action"]["command"] for row in acts("risky.jsonl", "tune") if row["action"].get("command")]
    command = next(command for command in commands if matcher.match(Action(command=command)))
    given = {"session_id": "a" * 36, "cwd": "/home/bob/shop", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps({**given, "tool_input": {"command": command}}).encode()


async def measure() -> list[Figure]:
    """Start the processes in turns and time them."""
    matcher = Matcher(_many(guardrails(), LESSONS))
    verbs, stop, asked = checks(matcher), anyio.Event(), event(matcher)
    with short_directory() as directory:
        async with fresh_nats() as url, connected(url) as connection, anyio.create_task_group() as group:
            await group.start(verbs.service(connection).run, stop)
            state = state_dir(directory, url)
            lines = _lines(state)
            times = await to_thread.run_sync(_in_turns, lines, asked)
            stop.set()
    assert len(verbs.seen) == 2 * (ROUNDS + 1)
    return _figures(times)


def _lines(state: Path) -> dict[str, list[str]]:
    hook = Hook(Path(sys.executable), hook_file(), ("--state-dir", str(state)))
    bare = [sys.executable, "-I", "-S", str(hook_file()), "PreToolUse"]
    return {
        "pass": [sys.executable, "-c", "pass"],
        "bare": [sys.executable, "-I", "-S", "-c", "pass"],
        "hook": [*bare, "--state-dir", str(state)],
        "shell": ["/bin/sh", "-c", hook.command("PreToolUse")],
        "gone": [*bare, "--server", GONE],
    }


def _in_turns(lines: dict[str, list[str]], asked: bytes) -> dict[str, list[float]]:
    """Return how long each command took in each round (ms), the first round left out."""
    times: dict[str, list[float]] = {name: [] for name in lines}
    for _ in range(ROUNDS + 1):
        for name, line in lines.items():
            begun = time.perf_counter()
            done = subprocess.run(line, input=asked, capture_output=True, check=True)
            times[name].append((time.perf_counter() - begun) * 1e3)
            if bool(done.stdout) != (name in ("hook", "shell")):
                raise AssertionError(f"{name}: {done.stdout!r}")
    return {name: took[1:] for name, took in times.items()}


def _figures(times: dict[str, list[float]]) -> list[Figure]:
    empty = median(times["pass"])
    base = f"python3 -c pass {empty:.1f} ms; python3 -I -S -c pass {median(times['bare']):.1f} ms"
    figures = []
    for name, what in (("hook", "the hook"), ("shell", "the hook, in the shell's command that is installed")):
        took, ratio = median(times[name]), median(times[name]) / empty
        figures += [
            Figure(f"{what}, {LESSONS} lessons, p50", took, "ms", f"{base}; p95 {quantile(times[name], 0.95):.1f} ms",
                   f"<= {TIME_BAR_MS:g}", took <= TIME_BAR_MS),
            Figure(f"{what}, against python3 -c pass", ratio, "x", base, f"<= {RATIO_BAR}", ratio <= RATIO_BAR),
        ]  # fmt: skip
    return [*figures, Figure("the hook, no daemon, p50", median(times["gone"]), "ms", base)]


if __name__ == "__main__":
    report(measure)
