"""``recall supersede``: say that one memo replaced another."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import NotFoundError, RefusedError

if TYPE_CHECKING:
    from recalld.bus.client import RecallClient

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


async def supersede(
    cli: Invocation, old: Old, new: New, repo: RepoName = None, why: Why = "", write: Write = False, yes: Yes = False
) -> int:
    """Say that one memo replaced another, so that the old one is not served any more.

    The daemon records it in a small file of its own in the repo; your files stay as they are, unless you say --write.
    Exit status 4 where it would have no effect.
    """
    async with cli.client() as client:
        if write:
            return await _write(client, old, new, repo, yes=yes)
        reply = await client.supersede(old=old, new=new, repo=repo, why=why)
    if cli.as_json:
        output.reply_json(reply)
    elif reply.already:
        output.say(f"{reply.repo} says already that {reply.new} replaced {reply.old}")
    else:
        output.say(f"{reply.new} replaces {reply.old}, by {reply.repo}:{reply.record}")
    return 0


async def _write(client: RecallClient, old: str, new: str, repo: str | None, *, yes: bool) -> int:
    """Add the claim to the new memo's frontmatter, on this machine's disk."""
    older, newer = await client.get(old, repo=repo), await client.get(new, repo=repo)
    if older.repo != newer.repo or older.path == newer.path:
        raise RefusedError("a claim is about another memo of the same repo", suggestion="name two memos of one repo")
    root = next((view.path for view in (await client.repo_list()).repos if view.name == newer.repo), "")
    path = Path(root) / newer.path
    if not path.is_file():
        raise NotFoundError(f"{path} is not on this machine", suggestion="leave --write out: the daemon records it")
    before = path.read_bytes().decode("utf-8")
    after = with_claim(before, older.path)
    for line in difflib.unified_diff(before.splitlines(), after.splitlines(), newer.path, newer.path, lineterm=""):
        output.say(line)
    if not yes and not typer.confirm("Write it?"):
        raise RefusedError("nothing was written", suggestion="answer y, or leave --write out")
    path.write_bytes(after.encode("utf-8"))
    return 0


def with_claim(text: str, old: str) -> str:
    """Return a memo's text with ``supersedes: old`` in its frontmatter. Raises RefusedError where one stands there."""
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(end)
    if lines[0].strip() != "---" or "---" not in [line.strip() for line in lines[1:]]:
        return f"---{end}supersedes: {old}{end}---{end}{text}"
    close = next(number for number, line in enumerate(lines[1:], start=1) if line.strip() == "---")
    if any(line.split(":")[0].strip().lower() in ("supersedes", "replaces") for line in lines[1:close]):
        raise RefusedError(
            "the memo's frontmatter says already what it replaces", suggestion=f"add {old} to that list by hand"
        )
    lines.insert(close, f"supersedes: {old}")
    return end.join(lines)
