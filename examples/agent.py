"""An agent without a model, to show how one works with the memory: it asks, backs off, relies, hears, revises.

    recall repo add examples/memory --wait
    python examples/agent.py
    cp examples/memory-next.md examples/memory/decisions/0003-cookies.md    # in another terminal, when it waits

Exit status: 0 when it has revised its plan, 1 when there was nothing to rely on or nothing happened in time.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import anyio

from recalld.bus.client import RecallClient
from recalld.bus.wire import Hit, SearchReply
from recalld.embedded.state import read_client_credentials
from recalld.settings import default_state_dir

AGENT = "example-agent"
IDEA = "Use Redis for sessions"
MEMO = f"# {IDEA}\n\nKeep login sessions in Redis, for it is fast.\n"
QUESTION = "where are login sessions stored?"
CLOSED = {"rejected", "withdrawn", "declined"}
"""What the status of a memo says where an idea was turned down."""


def place(hit: Hit) -> str:
    """Return a citation."""
    return f"{hit.repo}:{hit.path}:{hit.lines[0]}-{hit.lines[1]} ({hit.verdict})"


def status(hit: Hit) -> str:
    """Return what a memo says of its own standing."""
    return (hit.validity.status or "").casefold()


async def may_propose(memory: RecallClient) -> bool:
    """Ask all that is to be asked before an idea is proposed, and say what came of it."""
    print(f"idea: {IDEA}")
    checked = await memory.check(path="decisions/9999-redis-for-sessions.md", text=MEMO)
    for finding in checked.findings:
        print(f"check: {finding.code} {finding.repo}:{finding.path}: {finding.message}")
    for guard in (await memory.preflight(text=MEMO)).checks:
        print(f"preflight: {guard.check} ({guard.repo}:{guard.path})")
    reply = await memory.search(IDEA, k=5)
    closed = next((hit for hit in reply.hits if status(hit) in CLOSED), None)
    if closed is None:
        print("nothing in the memory speaks against it")
        return True
    print(f"backing off: {closed.title!r} was {status(closed)} [{place(closed)}]")
    print(f"  its reason: {' '.join(reason(closed).split())}")
    return False


def reason(hit: Hit) -> str:
    """Return the paragraph of a closed decision that says why."""
    paragraphs = hit.text.split("\n\n")
    return next((each for each in paragraphs if "because" in each), paragraphs[-1])


def relied_on(reply: SearchReply) -> Hit | None:
    """Return the best answer that was not turned down."""
    return next((hit for hit in reply.hits if status(hit) not in CLOSED), None)


async def plan(memory: RecallClient, word: str) -> tuple[SearchReply, Hit] | None:
    """Ask what the plan rests on, and say it; None where the memory does not know."""
    reply = await memory.search(QUESTION, kind=("decision",), k=5)
    found = relied_on(reply)
    if found is None:
        print(f"the memory does not know: {reply.reason}")
        return None
    print(f"{word}: {found.title!r} [{place(found)}]", flush=True)
    return reply, found


async def work(memory: RecallClient, patience_s: float) -> int:
    """Propose, rely on a decision, and revise the plan when that is replaced; return the exit status."""
    if await may_propose(memory):
        return 1
    async with memory.follow(f"invalidated.{AGENT}") as events:
        planned = await plan(memory, "relying on")
        if planned is None:
            return 1
        reply, found = planned
        print("waiting for news of it", flush=True)
        with anyio.move_on_after(patience_s):
            async for event in events:
                if event.data["receipt"] == reply.receipt and event.data["path"] == found.path:
                    print(f"heard: {found.path} is {event.data['happened']} by {event.data['successor']}")
                    revised = await plan(memory, "revised, now relying on")
                    return int(revised is None or revised[1].path == found.path)
    print("it still stands")
    return 1


async def main(state_dir: Path, patience_s: float) -> int:
    """Connect to the daemon of a state directory and work."""
    daemon = read_client_credentials(state_dir)
    if daemon is None:
        print("no daemon: start one with `recalld run`", file=sys.stderr)
        return 3
    async with RecallClient(daemon.url, agent=AGENT) as memory:
        return await work(memory, patience_s)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="An agent without a model that works with the memory.")
    arguments.add_argument("--state-dir", type=Path, default=default_state_dir(), help="the daemon's")
    arguments.add_argument("--patience", type=float, default=600.0, metavar="SECONDS", help="how long to wait for news")
    given = arguments.parse_args()
    sys.exit(anyio.run(main, given.state_dir, given.patience))
