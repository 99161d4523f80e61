"""``recall repo add | list | remove``: which directories are remembered."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.reindex import follow_until_indexed
from recalld.errors import RefusedError, UsageError

Directory = Annotated[Path, typer.Argument(metavar="PATH", help="The directory to watch.", show_default=False)]
Name = Annotated[str | None, typer.Option(metavar="NAME", help="What to call it (default: the directory's name).")]
Node = Annotated[str | None, typer.Option(metavar="NODE", help="The node whose disk it is on (default: the daemon's).")]
Include = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Only what this gitignore-syntax pattern matches.")
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Nothing that this gitignore-syntax pattern matches.")
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="recalld never creates files there.")]
VisibleTo = Annotated[
    list[str] | None, typer.Option(metavar="AGENT", help="Only this agent may search it (default: all).")
]
Wait = Annotated[bool, typer.Option("--wait", help="Return when all of it is indexed.")]
RepoName = Annotated[str, typer.Argument(metavar="NAME", help="The repo.", show_default=False)]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

ADD_EXAMPLES = """
recall repo add ~/notes
recall repo add ./docs --name handbook --exclude "drafts/**" --wait
"""
LIST_EXAMPLES = "recall repo list --json"
REMOVE_EXAMPLES = "recall repo remove handbook --yes"


async def add(
    cli: Invocation,
    path: Directory,
    name: Name = None,
    node: Node = None,
    include: Include = None,
    exclude: Exclude = None,
    read_only: ReadOnly = False,
    visible_to: VisibleTo = None,
    wait: Wait = False,
) -> int:
    """Watch a directory from now on and index what is in it. Adding it again changes nothing."""
    place = _absolute(path, must_exist=node is None and cli.server is None)
    async with cli.client() as client:
        reply = await client.repo_add(
            str(place),
            name=name,
            node=node,
            include=include or (),
            exclude=exclude or (),
            read_only=read_only,
            visible_to=visible_to or (),
        )
        if cli.as_json:
            output.reply_json(reply)
        else:
            output.say(f"{reply.repo.name}: watching {reply.repo.path} on {reply.repo.node}")
        if wait:
            scan = await client.reindex(repo=reply.repo.name)
            await follow_until_indexed(client, sum(report.seen for report in scan.reports), cli)
    return 0


async def list_(cli: Invocation, node: Node = None) -> int:
    """List the repos that are watched."""
    async with cli.client() as client:
        reply = await client.repo_list(node=node)
    if cli.as_json:
        output.reply_json(reply)
    elif not reply.repos:
        output.say("no repo yet: `recall repo add PATH` adds one")
    else:
        table = output.table("repo", "path", "node", "notes")
        for repo in reply.repos:
            notes = [f"only {', '.join(repo.visible_to)}"] if repo.visible_to else []
            notes += ["read-only"] if repo.read_only else []
            table.add_row(repo.name, output.plain(repo.path), repo.node, output.plain(", ".join(notes)))
        output.console().print(table)
    return 0


async def remove(cli: Invocation, name: RepoName, yes: Yes = False) -> int:
    """Stop watching a repo and drop it from the index. Its files are not touched."""
    if not yes:
        _confirm(f"drop {name} from the index? Its files stay")
    async with cli.client() as client:
        reply = await client.repo_remove(name)
    if cli.as_json:
        output.reply_json(reply)
    else:
        output.say(f"{name}: no longer watched, {reply.documents} documents dropped from the index")
        output.say(f"to undo: recall repo add {output.quoted(reply.repo.path)} --name {name}", dim=True)
    return 0


def _absolute(path: Path, *, must_exist: bool) -> Path:
    """Return the path from the root, symbolic links kept. Raises UsageError when there is no such directory here."""
    place = Path(os.path.abspath(path.expanduser()))
    if must_exist and not place.is_dir():
        raise UsageError(f"{place} is not a directory", suggestion="check the path, or name the node that it is on")
    return place


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise RefusedError("this drops a repo from the index and nobody is there to ask", suggestion="add --yes")
    if not typer.confirm(question, err=True):
        raise RefusedError("left as it was")
