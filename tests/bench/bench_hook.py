"""The hook as Claude Code runs it, before a command that a lesson applies to: whole processes, against an empty Python.

A real daemon has indexed 500 lessons, those of the first set of bench_preflight and mixtures of them. The runs take
turns, so that all see the same machine. The same daemon then says how long it looks for what applies, with 500 lessons
and with 5,000.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import yaml
from anyio import to_thread

from recalld.bus.client import RecallClient
from recalld.cli.hook import hook_file
from recalld.cli.hook_settings import Hook
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.match import Matcher
from tests.bench.bench_preflight import SPEEDS, TUNED, action_of, acts, guardrails, many
from tests.bench.figure import Figure, median, quantile, report
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.waiting import until

LESSONS = 500
ROUNDS = 100
RATIO_BAR, TIME_BAR_MS = 2.5, 60.0
GONE = "nats://127.0.0.1:1"
READ_S = 300.0
"""How long the daemon may take to read the lessons (seconds)."""


def write_lessons(folder: Path, lessons: list[Guardrail]) -> None:
    """Write lessons as the files that a memory has of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, lesson in enumerate(lessons):
        front = {"title": lesson.title, "check": lesson.check, "tags": list(lesson.tags)}
        (folder / f"{number:05}.md").write_text(f"---\n{yaml.safe_dump(front)}---\n{lesson.text}\n", "utf-8")


async def until_read(client: RecallClient, count: int) -> None:
    """Wait until the rulebook has so many guardrails."""

    async def is_read() -> bool:
        return (await client.preflight(text="x")).guardrails >= count

    await until(is_read, READ_S)


def event(lessons: list[Guardrail]) -> bytes:
    """Return what Claude Code sends before a command of the set for which a lesson fires."""
    matcher = Matcher(lessons)
    commands = [row["action"]["command"] for row in acts(TUNED[0], "risky") if row["action"].get("command")]
    command = next(command for command in commands if matcher.match(Action(command=command)))
    given = {"cwd": "/home/bob/shop", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    return json.dumps({**given, "tool_input": {"command": command}}).encode()


async def measure() -> list[Figure]:
    """Start the processes in turns and time them, then ask the daemon itself."""
    figures: list[Figure] = []
    with short_directory() as directory:
        async with running(directory / "state") as daemon, daemon.client() as client:
            await client.repo_add(str(directory), name="memory", include=("lessons/",))
            for count, bar in SPEEDS:
                lessons = many(guardrails(TUNED[0]), count)
                write_lessons(directory / "lessons", lessons)
                await until_read(client, count)
                if count == LESSONS:
                    lines = _lines(daemon.state_dir)
                    figures += _figures(await to_thread.run_sync(_in_turns, lines, event(lessons)))
                figures.append(await _asked(client, count, bar))
    return figures


async def _asked(client: RecallClient, count: int, bar: float) -> Figure:
    """Return how long the daemon looks for what applies to the acts of the set, by its own clock."""
    took = []
    for row in [*acts(TUNED[0], "risky"), *acts(TUNED[0], "benign")]:
        act: Action = action_of(row)
        reply = await client.preflight(text=act.text, tool=act.tool, path=act.path, command=act.command)
        took.append(reply.took_ms)
    p50 = median(took)
    worst = f"p95 {quantile(took, 0.95):.2f} ms"
    return Figure(f"preflight in the daemon, {count:,} lessons, p50", p50, "ms", worst, f"<= {bar:g}", p50 <= bar)


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
