"""``recall put`` and ``recall documents``: files, pages and text from elsewhere, as documents of a repo."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import NotFoundError, RefusedError, TooLargeError, UsageError
from recalld.put.urls import is_url

if TYPE_CHECKING:
    from rich.table import Table

    from recalld.bus import wire
    from recalld.bus.client import RecallClient

PATIENCE_S = 60.0
"""How long it is waited until a document is recallable."""
POLL_S = 0.1
HANDED_AT_ONCE = 4
INLINE_BYTES = 40_000
"""Less stands in the request itself, beside its other fields."""
MOST_BYTES = 67_108_864

What = Annotated[str, typer.Argument(metavar="FILE|URL|-", help="A file, a URL, or - for stdin.", show_default=False)]
RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="The repo (default: the only one).")]
OfRepo = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="Only of this repo.")]
Title = Annotated[str, typer.Option(metavar="TEXT", help="Its title (default: the document's own).")]
Name = Annotated[str, typer.Option(metavar="NAME", help="What its file is called (default: by its source).")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace its file even if somebody edited that.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Return when the document is recallable.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="Its path, repo:path, or its source.", show_default=False)]
Edited = Annotated[bool, typer.Option("--edited", help="Remove its file even if somebody edited that.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

EXAMPLES = """
recall put manual.pdf --repo memory
recall put https://www.rfc-editor.org/rfc/rfc9110.html --title "HTTP semantics"
recall put - --name minutes-of-may --repo memory
"""
LIST_EXAMPLES = "recall documents list --repo memory --json"
REMOVE_EXAMPLES = """
recall documents remove documents/manual.md --yes
recall documents remove https://www.rfc-editor.org/rfc/rfc9110.html
"""


async def put(
    cli: Invocation,
    what: What,
    repo: RepoName = None,
    title: Title = "",
    name: Name = "",
    replace: Replace = False,
    wait: Wait = True,
) -> int:
    """Put a document in: text, markdown, HTML or PDF, from a file, a URL or stdin.

    It becomes a file in the folder documents of the repo, which says where it is from. The same source again updates
    that file, unless somebody edited it (exit status 4). Exit status 1 when it did not become recallable.
    """
    content, source = (None, what) if is_url(what) else _local(what, title, name)
    async with cli.client() as client:
        parts: tuple[str, ...] = ()
        if content is not None and len(content) > INLINE_BYTES:
            with _showing(cli, f"handing over {output.size(len(content))}"):
                parts, content = await _handed_over(client, content), None
        with _showing(cli, "fetching and converting" if is_url(what) else "converting"):
            reply = await client.put(
                source=source, content=content, parts=parts, repo=repo, title=title, name=name, replace=replace
            )
        if not cli.as_json:
            _tell(reply)
        with _showing(cli, "indexing"):
            recallable = await _until_recallable(client, reply) if wait else None
    if cli.as_json:
        output.say(json.dumps({**reply.model_dump(mode="json"), "recallable": recallable}))
    elif recallable is not None:
        output.say("recallable now" if recallable else "not recallable yet: `recall stats` says what is under way")
    return 1 if recallable is False else 0


async def list_(cli: Invocation, repo: OfRepo = None) -> int:
    """List the documents that were put in, with where they are from."""
    from recalld.bus import wire

    async with cli.client() as client:
        views = await _views(client, repo)
    if cli.as_json:
        output.reply_json(wire.DocumentsReply(documents=tuple(views)))
    elif views:
        output.console().print(_table(views))
    else:
        output.say("nothing was put in yet: `recall put FILE|URL|-`", dim=True)
    return 0


async def remove(cli: Invocation, ref: Ref, repo: RepoName = None, edited: Edited = False, yes: Yes = False) -> int:
    """Remove a put document's file. One that somebody edited stays (exit status 4)."""
    async with cli.client() as client:
        if not yes:
            _confirm(f"remove the file {await _named(client, ref, repo)}?")
        reply = await client.documents_remove(ref, repo=repo, edited=edited)
    if cli.as_json:
        output.reply_json(reply)
    else:
        output.say(f"{reply.repo}:{reply.path} is removed; it was from {reply.source}")
    return 0


async def _views(client: RecallClient, repo: str | None) -> list[wire.DocumentView]:
    views: list[wire.DocumentView] = []
    after = ""
    while True:
        reply = await client.documents(repo=repo, limit=200, after=after)
        views += reply.documents
        if not reply.next:
            return views
        after = reply.next


async def _named(client: RecallClient, ref: str, repo: str | None) -> str:
    """Return the listed document that is meant, as one is asked about it. Raises NotFoundError."""
    for view in await _views(client, repo):
        if ref in (view.path, f"{view.repo}:{view.path}", view.source):
            return f"{view.repo}:{view.path}, which is from {view.source}"
    raise NotFoundError(f"no put document {ref}", suggestion="`recall documents list` names them")


def _local(what: str, title: str, name: str) -> tuple[bytes, str]:
    """Return the bytes of a file or of stdin, and what they are from. Raises NotFoundError, UsageError."""
    if what == "-":
        if not name and not title:
            raise UsageError("what comes from stdin has no name", suggestion="give it one: --name minutes-of-may")
        content, source = sys.stdin.buffer.read(MOST_BYTES + 1), f"stdin:{name or title}"
    else:
        content, source = _read(Path(what), MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise TooLargeError(f"{what} has more than {output.size(MOST_BYTES)}", suggestion="put it in by chapters")
    return content, source


def _read(path: Path, most: int) -> tuple[bytes, str]:
    where = Path(os.path.abspath(path.expanduser()))
    if not where.exists():
        raise NotFoundError(f"there is no {where}", suggestion="give a file, a URL with its scheme, or - for stdin")
    if not where.is_file():
        raise UsageError(f"{where} is no file", suggestion="a directory is watched instead: `recall repo add`")
    try:
        with where.open("rb") as file:
            return file.read(most), f"file://{socket.gethostname()}{quote(os.fsencode(where))}"
    except OSError as error:
        raise UsageError(f"{where} cannot be read: {error.strerror}", suggestion="see its permissions") from error


async def _handed_over(client: RecallClient, content: bytes) -> tuple[str, ...]:
    """Hand over bytes a few parts at a time; return their names, in order."""
    import anyio

    names: dict[int, str] = {}
    waiting = iter(list(enumerate(_parts(content))))

    async def hand_over() -> None:
        for number, part in waiting:
            names[number] = (await client.put_part(content=part)).part

    async with anyio.create_task_group() as group:
        for _ in range(HANDED_AT_ONCE):
            group.start_soon(hand_over)
    return tuple(names[number] for number in sorted(names))


def _parts(content: bytes) -> Iterator[bytes]:
    from recalld.bus import wire

    for begin in range(0, len(content), wire.put.PART_BYTES):
        yield content[begin : begin + wire.put.PART_BYTES]


async def _until_recallable(client: RecallClient, reply: wire.PutReply) -> bool:
    """Wait until the index holds the file as it was written; False when it does not within :data:`PATIENCE_S`."""
    import anyio

    with anyio.move_on_after(PATIENCE_S if not any("not indexed" in note for note in reply.notes) else 0):
        while True:
            try:
                document = await client.get(reply.path, repo=reply.repo)
                if document.provenance.content_hash == reply.content_hash:
                    return True
            except NotFoundError:
                pass
            await anyio.sleep(POLL_S)
    return False


def _tell(reply: wire.PutReply) -> None:
    """Say what was done, step by step."""
    source = f"{output.size(reply.source_bytes)} of {reply.media_type}"
    if is_url(reply.source) and not reply.source.startswith("file:"):
        output.say(f"fetched {source} in {reply.fetch_ms:.0f} ms", dim=True)
    pages = f", {reply.pages} pages" if reply.pages else ""
    output.say(f"converted {source}{pages} in {reply.convert_ms:.0f} ms", dim=True)
    for note in reply.notes:
        output.say(note)
    words = {"created": "was written", "updated": "was updated", "unchanged": "says so already: nothing was written"}
    output.say(f"{reply.repo}:{reply.path} {words[reply.action]} ({output.size(reply.text_bytes)} of text)")


def _showing(cli: Invocation, words: str) -> AbstractContextManager[object]:
    """Show on a terminal what is being done."""
    if cli.as_json or not sys.stderr.isatty():
        return nullcontext()
    return output.console(err=True).status(words)


def _table(views: list[wire.DocumentView]) -> Table:
    table = output.table("document", "title", "source", "fetched", "size", "state", numbers=("size",))
    for view in views:
        table.add_row(
            output.plain(f"{view.repo}:{view.path}"), output.plain(view.title), output.plain(view.source),
            output.local_time(view.fetched_at) if view.fetched_at else "", output.size(view.source_bytes),
            output.styled(view.state),
        )  # fmt: skip
    return table


def _confirm(question: str) -> None:
    if not sys.stdin.isatty():
        raise RefusedError("this removes a file and nobody is there to ask", suggestion="add --yes")
    if not typer.confirm(question, err=True):
        raise RefusedError("left as it was")
