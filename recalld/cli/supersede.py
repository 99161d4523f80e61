"""``recall supersede``: say that one memo replaced another."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation, finished
from recalld.errors import NotFoundError, RefusedError, UsageError
from recalld.watch.creating import replace

if TYPE_CHECKING:
    from recalld.bus import wire

Old = Annotated[str, typer.Argument(metavar="OLD", help="What no longer holds: a path, repo:path, or a hit's id.")]
New = Annotated[str, typer.Argument(metavar="NEW", help="What took its place.")]
RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="The repo that both are in.")]
Why = Annotated[str, typer.Option(metavar="TEXT", help="The reason, kept in the record.")]
Write = Annotated[
    bool, typer.Option("--write", help="Say it in the new memo's own frontmatter, after showing the diff.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="With --write: do not ask.")]

EXAMPLES = """
recall supersede decisions/0003-jobs-in-redis.md decisions/0009-jobs-in-postgres.md
recall supersede 0003.md 0009.md --repo memory --why "it forgot 212 mails"
recall supersede old.md new.md --write
"""


def supersede(
    cli: Invocation, old: Old, new: New, repo: RepoName = None, why: Why = "", write: Write = False, yes: Yes = False
) -> int:
    """Say that one memo replaced another, so that the old one is not served any more.

    The daemon records it in a small file of its own, `supersessions/` in the repo: delete that to take it back. Your
    files stay as they are, unless you say --write. Exit status 4 where it would have no effect.
    """
    if write and why:
        raise UsageError("--why is kept in the daemon's record", suggestion="leave out --why, or --write")
    if write and cli.as_json and not yes:
        raise UsageError("--json asks no question", suggestion="add --yes")
    reply, edit = finished(_asked(cli, old, new, repo, why, write=write))
    if edit is not None and not reply.already:
        _write(edit, reply, cli, yes=yes)
    elif cli.as_json:
        output.reply_json(reply)
    elif reply.already:
        output.say(f"{reply.repo} says already that {reply.new} replaced {reply.old}")
    else:
        output.say(f"{reply.new} replaces {reply.old}, by {reply.repo}:{reply.record}")
    return 0


@dataclass(frozen=True, slots=True)
class _Edit:
    """A file of this machine, with its content now and with the claim in it."""

    path: Path
    before: bytes
    after: bytes


async def _asked(
    cli: Invocation, old: str, new: str, repo: str | None, why: str, *, write: bool
) -> tuple[wire.SupersedeReply, _Edit | None]:
    """Have it recorded or, to write it into the memo itself, only ask whether it would have an effect."""
    from recalld.ingest.claim import with_claim

    async with cli.client() as client:
        reply = await client.supersede(old=old, new=new, repo=repo, why=why, dry_run=write)
        if not write or reply.already:
            return reply, None
        root = next((view.path for view in (await client.repo_list()).repos if view.name == reply.repo), "")
    path = Path(root) / reply.new
    if not path.is_file():
        raise NotFoundError(f"{path} is not on this machine", suggestion="leave --write out: the daemon records it")
    before = path.read_bytes()
    return reply, _Edit(path, before, with_claim(reply.new, before, reply.old))


def _write(edit: _Edit, reply: wire.SupersedeReply, cli: Invocation, *, yes: bool) -> None:
    """Show the diff, ask, and write: outside the event loop, so that Ctrl-C ends the question."""
    before, after = (content.decode("utf-8-sig").splitlines() for content in (edit.before, edit.after))
    diff = list(difflib.unified_diff(before, after, reply.new, reply.new, lineterm=""))
    if not cli.as_json:
        for line in diff:
            output.say(line)
    if not yes and not typer.confirm("Write it?"):
        raise RefusedError("nothing was written", suggestion="answer y, or leave --write out")
    replace(edit.path, edit.before, edit.after)
    if cli.as_json:
        output.say(json.dumps({**reply.model_dump(mode="json"), "written": str(edit.path), "diff": diff}))
    else:
        output.say(f"{reply.new} replaces {reply.old}: written into {edit.path}")
