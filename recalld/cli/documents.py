"""``recall get``, ``recall forget`` and ``recall delta``: single documents, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import output
from recalld.cli.command import Invocation

if TYPE_CHECKING:
    from recalld.bus import wire

Ref = Annotated[
    str, typer.Argument(metavar="ID|PATH", help="A hit's id, a path in a repo, or repo:path.", show_default=False)
]
RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="The repo that the path is in.")]
TextOnly = Annotated[bool, typer.Option("--text", help="Print the document's text and nothing else.")]
Undo = Annotated[bool, typer.Option("--undo", help="Let a forgotten document back in.")]
Cursor = Annotated[str, typer.Option(metavar="CURSOR", help="Where the last reply ended (default: the beginning).")]
Limit = Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="How many changes at most.")]

GET_EXAMPLES = """
recall get decisions/0012-queue.md
recall get memory:decisions/0012-queue.md --text
"""
FORGET_EXAMPLES = """
recall forget notes/private.md
recall forget notes/private.md --undo
"""
DELTA_EXAMPLES = """
recall delta
recall delta --since CURSOR --json
"""


async def get(cli: Invocation, ref: Ref, repo: RepoName = None, text: TextOnly = False) -> int:
    """Print a document whole, as it was indexed, with where it comes from."""
    async with cli.client() as client:
        reply = await client.get(ref, repo=repo)
    if cli.as_json:
        output.reply_json(reply)
    else:
        if not text:
            _show_header(reply)
        typer.echo(reply.text, nl=not reply.text.endswith("\n"))
    return 0


async def forget(cli: Invocation, ref: Ref, repo: RepoName = None, undo: Undo = False) -> int:
    """Drop a document from the index and keep it out while its file stays. The file is not touched."""
    async with cli.client() as client:
        reply = await client.forget(ref, repo=repo, undo=undo)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    place = f"{reply.repo}:{reply.path}"
    if reply.undone:
        output.say(f"{place} is no longer forgotten; it is indexed again now")
    else:
        output.say(f"forgot {place} ({reply.chunks} passages); its file is untouched")
        output.say(f"to undo: recall forget --undo --repo {reply.repo} {output.quoted(reply.path)}", dim=True)
    return 0


async def delta(cli: Invocation, since: Cursor = "", limit: Limit = 500, repo: RepoName = None) -> int:
    """List what changed in the index since a cursor, in the order of the changes."""
    async with cli.client() as client:
        reply = await client.delta(since=since, limit=limit, repo=repo)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    if reply.changes:
        table = output.table("when", "state", "document", "seq", numbers=("seq",))
        for change in reply.changes:
            table.add_row(
                output.local_time(change.at),
                change.state,
                output.plain(f"{change.repo}:{change.path}"),
                str(change.seq),
            )
        output.console().print(table)
    else:
        output.say("nothing changed")
    more = ", and there is more" if reply.more else ""
    output.say(f"next: recall delta --since {output.quoted(reply.cursor)}{more}", dim=True)
    return 0


def _show_header(document: wire.GetReply) -> None:
    from rich.table import Table

    now = output.utc_now()
    origin = document.provenance
    facts: list[tuple[str, Any]] = [
        ("document", f"{document.repo}:{document.path}"),
        ("title", document.title),
        ("kind", document.kind),
        ("tags", ", ".join(document.tags)),
        ("modified", output.local_time(document.modified_at) if document.modified_at else ""),
        ("indexed", f"{output.age(origin.indexed_at, now)}, sequence {origin.seq}"),
        ("commit", origin.commit or ""),
        ("declares", ", ".join(f"{edge.kind} {edge.target}" for edge in document.edges)),
        ("findings", "; ".join(finding.message for finding in document.findings)),
    ]
    table = Table.grid(padding=(0, 2))
    for name, value in facts:
        if value:
            table.add_row(f"[dim]{name}[/]", output.plain(str(value)))
    output.console().print(table)
    output.console().print()
