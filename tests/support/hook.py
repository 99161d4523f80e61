"""The hook as Claude Code runs it, and a daemon's verbs for it to ask, on a real NATS server."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio import to_thread

from recalld.bus import wire
from recalld.bus.connection import Connection
from recalld.bus.service import Service
from recalld.cli.hook import hook_file
from recalld.model import State
from recalld.settings import BusSettings
from tests.support.bus import NOW

PROGRAM = [sys.executable, "-I", "-S", str(hook_file())]
FRESH = wire.Freshness(newest_indexed_at=NOW, pending=0, failed=0, stale=0)
CHECK = wire.GuardrailView(
    id="lessons/lock.md", repo="notes", path="lessons/lock.md", title="State", check="Is the lock yours?",
    kind="lesson", shared=("terraform", "apply"), confidence=0.9,
)  # fmt: skip


def bash(command: str, **fields: Any) -> dict[str, Any]:
    """An event that Claude Code sends before, or after, a command."""
    return {
        "session_id": "abc123",
        "transcript_path": "/tmp/t.jsonl",
        "cwd": "/home/bob/shop",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "Run it"},
        "tool_use_id": "toolu_01",
        **fields,
    }


@dataclass(frozen=True)
class Ran:
    """What a run of the hook did, and how long it took (seconds)."""

    status: int
    stdout: bytes
    stderr: bytes
    took: float

    @property
    def told(self) -> str:
        """What Claude is told; empty where nothing was printed."""
        return str(json.loads(self.stdout)["hookSpecificOutput"]["additionalContext"]) if self.stdout else ""

    @property
    def silent(self) -> bool:
        """Whether it ended well and said nothing at all."""
        return (self.status, self.stdout, self.stderr) == (0, b"", b"")


async def run_hook(
    event: str,
    given: Any,
    *options: str,
    environment: Mapping[str, str] | None = None,
    program: Sequence[str] = PROGRAM,
) -> Ran:
    """Run the hook beside the event loop, with ``given`` on its stdin: bytes as they are, anything else as JSON."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()

    def call() -> Ran:
        begun = time.perf_counter()
        done = subprocess.run(
            [*program, event, *options], input=data, env=environment or {}, capture_output=True, timeout=60, check=False
        )
        return Ran(done.returncode, done.stdout, done.stderr, time.perf_counter() - begun)

    return await to_thread.run_sync(call)


@dataclass
class Verbs:
    """A daemon that notes what it was asked and by whom, and answers as it is told to."""

    seen: list[tuple[str, Any]] = field(default_factory=list)
    failure: Exception | None = None
    checks: Callable[[wire.PreflightRequest], Sequence[wire.GuardrailView]] = lambda request: (
        (CHECK,) if "terraform" in request.command else ()
    )
    brief_reply: wire.BriefReply = field(
        default_factory=lambda: wire.BriefReply(
            state=State.READY, freshness=FRESH, repos=("notes",), guardrails=2, proposed=1, rules=(CHECK,)
        )
    )

    async def preflight(self, agent: str, request: wire.PreflightRequest) -> wire.PreflightReply:
        self._note(agent, request)
        return wire.PreflightReply(checks=tuple(self.checks(request)), guardrails=2, state=State.READY, took_ms=0.1)

    async def brief(self, agent: str, request: wire.BriefRequest) -> wire.BriefReply:
        self._note(agent, request)
        return self.brief_reply

    async def learn(self, agent: str, request: wire.LearnRequest) -> wire.LearnReply:
        self._note(agent, request)
        return wire.LearnReply(
            repo="notes", path="lessons/1.md", id="lessons/1.md", status="proposed", action="created", seen_count=1
        )

    def _note(self, agent: str, request: wire.Request) -> None:
        self.seen.append((agent, request))
        if self.failure is not None:
            raise self.failure

    def service(self, connection: Connection) -> Service:
        """Return a service with these verbs, not yet running."""
        service = Service(connection, "one", "1.0.0", BusSettings())
        service.add("preflight", wire.PreflightRequest, wire.PreflightReply, self.preflight)
        service.add("brief", wire.BriefRequest, wire.BriefReply, self.brief)
        service.add("learn", wire.LearnRequest, wire.LearnReply, self.learn)
        return service


def state_dir(directory: Path, url: str) -> Path:
    """Make a state directory in which a daemon has left its credentials."""
    (directory / "credentials").mkdir(parents=True)
    (directory / "credentials" / "client.json").write_text(json.dumps({"url": url, "node": "one", "pid": 1}))
    return directory
