"""``recall learn``, ``recall mark`` and ``recall lessons``: what was learned, whether it helps, whether it holds."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import TooLargeError, UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from recalld.bus import wire

STDIN_CHARACTERS = 16_384
"""What a lesson's body may have."""

Title = Annotated[str, typer.Option("--title", metavar="TEXT", help="What it is about, in one line.")]
Body = Annotated[str, typer.Option("--body", metavar="TEXT", help="What happened, and why; - reads it from stdin.")]
Check = Annotated[str, typer.Option("--check", metavar="TEXT", help="The line to look at before the next such act.")]
Scope = Annotated[list[str] | None, typer.Option("--scope", metavar="GLOB", help="Files that it is about.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A word to find it by.")]
Trigger = Annotated[str, typer.Option(metavar="TEXT", help="What shows that it applies, as an error's text.")]
Proposed = Annotated[bool, typer.Option("--proposed", help="It waits to be accepted, and is silent until then.")]
RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="The repo (default: the only one).")]
OfRepo = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="Only of this repo.")]
Waiting = Annotated[bool, typer.Option("--proposed", help="Only those that wait to be accepted.")]
Ref = Annotated[str, typer.Argument(metavar="ID", help="Its path, repo:path, path#section, or a hit's id.")]
Outcome = Annotated[str, typer.Option(metavar="OUTCOME", help="helped or failed.")]

LEARN_EXAMPLES = """
recall learn --title "Bulk mails need the throttle" --check "Is the sender throttled?" --body "212 mails went to spam."
recall learn --title "Deploys need the lock" --check "Is the lock yours?" --body - --proposed < deploy.log
"""
MARK_EXAMPLES = """
recall mark lessons/bulk-mails-need-the-throttle.md --outcome helped
recall mark memory:rules/deploys.md#migrations --outcome failed
"""
LIST_EXAMPLES = """
recall lessons list
recall lessons list --proposed --json
"""
ACCEPT_EXAMPLES = "recall lessons accept lessons/deploys-need-the-lock.md"
REJECT_EXAMPLES = "recall lessons reject lessons/deploys-need-the-lock.md"
PIN_EXAMPLES = "recall lessons pin lessons/bulk-mails-need-the-throttle.md"
UNPIN_EXAMPLES = "recall lessons unpin lessons/bulk-mails-need-the-throttle.md"


async def learn(
    cli: Invocation,
    title: Title,
    check: Check,
    body: Body = "",
    scope: Scope = None,
    tag: Tags = None,
    trigger: Trigger = "",
    proposed: Proposed = False,
    repo: RepoName = None,
) -> int:
    """Write a lesson as a file of the repo, ready to be committed; one that is there already is seen again.

    A secret, or what the memory itself has just told you, is refused (exit status 4).
    """
    async with cli.client() as client:
        reply = await client.learn(
            title=title, check=check, body=_stdin() if body == "-" else body, scope=tuple(scope or ()),
            tags=tuple(tag or ()), trigger=trigger, proposed=proposed, repo=repo,
        )  # fmt: skip
    if cli.as_json:
        output.reply_json(reply)
    elif reply.action == "created":
        waits = ", and waits to be accepted: `recall lessons accept`" if reply.status == "proposed" else ""
        output.say(f"{reply.repo}:{reply.path} was written{waits}")
    else:
        output.say(f"{reply.repo}:{reply.path} says so already; seen {reply.seen_count} times now")
    return 0


async def mark(cli: Invocation, ref: Ref, outcome: Outcome, repo: RepoName = None) -> int:
    """Say whether a lesson or rule that you were told of helped."""
    if outcome not in ("helped", "failed"):
        raise UsageError(f"--outcome {outcome!r}", suggestion="say helped or failed")
    async with cli.client() as client:
        reply = await client.mark(ref=ref, outcome=outcome, repo=repo)
    if cli.as_json:
        output.reply_json(reply)
    else:
        output.say(f"{reply.repo}:{reply.id} helped {reply.helped} times, failed {reply.failed} times")
    return 0


async def list_(cli: Invocation, proposed: Waiting = False, repo: OfRepo = None) -> int:
    """List lessons, with how often each was seen, shown and of use."""
    async with cli.client() as client:
        reply = await client.lessons(proposed=proposed, repo=repo)
    if cli.as_json:
        output.reply_json(reply)
    elif reply.lessons:
        output.console().print(_table(reply.lessons))
    else:
        output.say("no lesson waits" if proposed else "there are no lessons yet: `recall learn`", dim=True)
    return 0


async def accept(cli: Invocation, ref: Ref, repo: RepoName = None) -> int:
    """Let a proposed lesson speak."""
    return await _review(cli, ref, repo, "accept", "speaks from now on")


async def reject(cli: Invocation, ref: Ref, repo: RepoName = None) -> int:
    """Put a lesson away, into the folder archive; `recall undo` brings it back."""
    return await _review(cli, ref, repo, "reject", "was put away")


async def pin(cli: Invocation, ref: Ref, repo: RepoName = None) -> int:
    """Keep a lesson from ever being put away, and tell it first when work begins."""
    return await _review(cli, ref, repo, "pin", "is pinned")


async def unpin(cli: Invocation, ref: Ref, repo: RepoName = None) -> int:
    """Take a pin back."""
    return await _review(cli, ref, repo, "unpin", "is no longer pinned")


Act = Literal["accept", "reject", "pin", "unpin"]


async def _review(cli: Invocation, ref: str, repo: str | None, action: Act, done: str) -> int:
    async with cli.client() as client:
        reply = await client.review(ref=ref, action=action, repo=repo)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    words = done if reply.changed else "stood so already"
    back = f"; `recall undo {reply.run}` brings it back" if reply.run else ""
    output.say(f"{reply.repo}:{reply.path} {words}{back}")
    return 0


def _table(lessons: tuple[wire.LessonView, ...]) -> Table:
    table = output.table("lesson", "check", "status", "seen", "shown", "found", "helped", "failed", numbers=_NUMBERS)
    for one in lessons:
        marks = ("pinned, " if one.pinned else "") + one.status + ("" if one.machine_written else ", a person's")
        use = one.use
        table.add_row(
            output.plain(f"{one.repo}:{one.path}"), output.plain(one.check or one.title), output.plain(marks),
            *map(str, (one.seen_count, use.surfaced, use.retrieved, use.helped, use.failed)),
        )  # fmt: skip
    return table


_NUMBERS = ("seen", "shown", "found", "helped", "failed")


def _stdin() -> str:
    text = sys.stdin.buffer.read(STDIN_CHARACTERS * 4 + 1).decode("utf-8", "replace")
    if len(text) > STDIN_CHARACTERS:
        raise TooLargeError(f"the body is longer than {STDIN_CHARACTERS} characters", suggestion="say less, or cut it")
    return text
