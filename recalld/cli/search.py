"""``recall search``: hits for people, or the reply as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.times import moment
from recalld.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from recalld.bus import wire

MODES = ("dense", "lexical", "hybrid", "rerank")
SNIPPET_LINES = 5
"""Lines of a hit's text that are shown; `recall get` shows the rest."""
_NARROWING = "Narrow the search"

Words = Annotated[list[str], typer.Argument(metavar="TEXT...", help="The question, quoted or not.")]
Hits = Annotated[int, typer.Option("-k", metavar="N", min=1, max=200, help="How many hits at most.")]
Repos = Annotated[
    list[str] | None, typer.Option("--repo", metavar="NAME", help="Only in this repo.", rich_help_panel=_NARROWING)
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Only this kind of document.", rich_help_panel=_NARROWING),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="TAG", help="Only documents with this tag.", rich_help_panel=_NARROWING),
]
Glob = Annotated[
    str | None,
    typer.Option("--path", metavar="GLOB", help="Only paths like `adr/**`.", rich_help_panel=_NARROWING),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only files modified since: 2026-06-30, or 3d.", rich_help_panel=_NARROWING),
]
Until = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only files modified until then.", rich_help_panel=_NARROWING)
]
AsOf = Annotated[
    str | None, typer.Option(metavar="TIME", help="What was valid then: 2024-07-15, or 3d ago as 3d (default: now).")
]
KnownAsOf = Annotated[
    str | None, typer.Option(metavar="TIME", help="By what the memory knew then (default: all that it knows).")
]
ModeName = Annotated[str | None, typer.Option("--mode", metavar="MODE", help=f"One of {', '.join(MODES)}.")]
Trace = Annotated[bool, typer.Option("--trace", help="Show what each stage did, and in how many milliseconds.")]
MinSeq = Annotated[
    int | None, typer.Option(metavar="SEQ", help="Answer once this ingest sequence (see `reindex`) is indexed.")
]
Everything = Annotated[
    bool, typer.Option("--all", help="Show what was withheld (superseded, expired, too far ...) in full, at the end.")
]
Timeout = Annotated[float, typer.Option(metavar="SECONDS", min=0.001, max=600, help="How long to wait for the reply.")]

EXAMPLES = """
recall search why did we leave the message broker
recall search "deploy freeze" --repo memory --kind decision -k 3
recall search ERR_QUEUE_FULL --mode lexical --json
recall search "how long do sessions last" --as-of 2024-07-15
"""


async def search(
    cli: Invocation,
    text: Words,
    k: Hits = 8,
    repo: Repos = None,
    kind: Kinds = None,
    tag: Tags = None,
    path: Glob = None,
    since: Since = None,
    until: Until = None,
    mode: ModeName = None,
    as_of: AsOf = None,
    known_as_of: KnownAsOf = None,
    min_seq: MinSeq = None,
    trace: Trace = False,
    show_all: Everything = False,
    timeout: Timeout = 30.0,
) -> int:
    """Find the passages that best answer a question.

    Each hit says where it stands (repo:path:lines) and how far it may be trusted. What does not hold (superseded,
    expired, too far from the question) is named, and not among the answers. Exit status 1 when there is no answer.
    """
    narrowed = narrowing(repo, kind, tag, path, mode, since, until, as_of, known_as_of)
    async with cli.client() as client:
        reply = await client.search(
            " ".join(text),
            k=k,
            min_seq=min_seq,
            trace=trace,
            all=show_all,
            deadline_ms=round(timeout * 1_000),
            **narrowed,
        )
    if cli.as_json:
        output.reply_json(reply)
    else:
        show(reply, output.console())
    return 1 if reply.abstained else 0


def narrowing(
    repo: list[str] | None,
    kind: list[str] | None,
    tag: list[str] | None,
    path: str | None,
    mode: str | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    known_as_of: str | None,
) -> dict[str, Any]:
    """Return the options that narrow a search as a request has them. Raises UsageError for a wrong mode or time."""
    if mode is not None and mode not in MODES:
        raise UsageError(f"there is no mode {mode}", suggestion=f"use {', '.join(MODES)}")
    now = output.utc_now()
    return {
        "repo": repo or (),
        "kind": kind or (),
        "tag": tag or (),
        "path": path,
        "mode": mode,
        "since": moment(since, now) if since is not None else None,
        "until": moment(until, now, end_of_day=True) if until is not None else None,
        "as_of": moment(as_of, now, end_of_day=True) if as_of is not None else None,
        "known_as_of": moment(known_as_of, now, end_of_day=True) if known_as_of is not None else None,
    }


def show(reply: wire.SearchReply, console: Console) -> None:
    """Print a reply: its state where that matters, the hits or the abstention, and how sure it is of them."""
    if reply.state != "ready":
        console.print(f"[bold]{output.styled(reply.state)}[/]: this is not the daemon's best answer")
    for note in reply.notes:
        console.print(f"[yellow]note[/]: {output.plain(note)}")
    if reply.abstained:
        console.print(f"[bold]I don't know[/]: {output.plain(reply.reason)}.")
    for number, hit in enumerate(reply.hits, start=1):
        _show_hit(number, hit, reply.query, console)
    for hit in best_of_each_document(reply.withheld):
        console.print(f"[dim]withheld: {output.plain(place(hit))}, {hit.verdict}: {output.plain(hit.reason)}[/]")
    if reply.hits and not reply.calibrated:
        console.print(f"[dim]{output.plain(reply.reason)}[/]")
    if reply.freshness.aged or reply.freshness.pending or reply.freshness.failed or reply.freshness.stale:
        console.print(f"[dim]{output.freshness_line(reply.freshness, output.utc_now())}[/]")
    if reply.trace is not None:
        show_trace(reply.trace, reply.took_ms, console)


def place(hit: wire.Hit) -> str:
    """Return where a hit stands, as ``repo:path:first-last``."""
    return f"{hit.repo}:{hit.path}:{hit.lines[0]}-{hit.lines[1]}"


def best_of_each_document(hits: Iterable[wire.Hit]) -> list[wire.Hit]:
    """Return the first hit of each document."""
    best: dict[tuple[str, str], wire.Hit] = {}
    for hit in hits:
        best.setdefault((hit.repo, hit.path), hit)
    return list(best.values())


def declared(validity: wire.Validity) -> str:
    """Say what the document declares about its own standing; empty when it declares nothing."""
    parts = [f"status {validity.status}"] if validity.status else []
    if validity.valid_from:
        parts.append(f"valid from {validity.valid_from}")
    if validity.valid_until:
        parts.append(f"valid until {validity.valid_until}")
    if validity.superseded_by:
        parts.append(f"superseded by {validity.superseded_by}")
    if validity.supersedes:
        parts.append(f"supersedes {', '.join(validity.supersedes)}")
    return ", ".join(parts)


def _show_hit(number: int, hit: wire.Hit, query: str, console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    sure = f"{hit.confidence:.0%} sure" if hit.confidence is not None else f"score {hit.score:.3f}"
    colour = output.VERDICTS.get(hit.verdict, "yellow")
    console.print(f"[bold]{number}[/]  [cyan]{output.plain(place(hit))}[/]  [{colour}]{hit.verdict}[/][dim], {sure}[/]")
    where = " > ".join(dict.fromkeys((hit.title, *hit.heading)))
    standing = declared(hit.validity)
    body = Text.from_markup(f"[bold]{output.plain(where)}[/]\n")
    if hit.reason:
        body.append_text(Text.from_markup(f"[yellow]{output.plain(hit.reason)}[/]\n"))
    if hit.stands_for:
        body.append_text(Text.from_markup(f"[green]takes the place of[/] {output.plain(hit.stands_for)}\n"))
    if standing:
        body.append_text(Text.from_markup(f"[dim]the file says: {output.plain(standing)}[/]\n"))
    body.append_text(_snippet(hit, query))
    console.print(Padding(body, (0, 0, 1, 3), expand=False))


def _snippet(hit: wire.Hit, query: str) -> Text:
    """Return the first lines that say something new, with the question's longer words marked."""
    from rich.text import Text

    said = {hit.title, *hit.heading}
    lines = [line.rstrip() for line in hit.text.splitlines() if line.strip() and line.strip("# \t") not in said]
    cut = "\n…" if len(lines) > SNIPPET_LINES else ""
    result = Text.from_markup(output.plain("\n".join(lines[:SNIPPET_LINES]) + cut))
    words = [re.escape(word) for word in re.findall(r"[\w-]{4,}", query)]
    if words:
        result.highlight_regex(re.compile(rf"\b(?:{'|'.join(words)})", re.IGNORECASE), "bold green")
    return result


def show_trace(trace: Iterable[wire.TraceStage], took_ms: float, console: Console) -> None:
    """Print what each stage of a search did."""
    table = output.table("stage", "ms", "in", "out", "dropped", numbers=("ms", "in", "out"))
    for stage in trace:
        reasons = sorted({reason for _, reason in stage.dropped})
        dropped = f"{len(stage.dropped)}: {', '.join(reasons)}" if reasons else ""
        table.add_row(
            output.plain(stage.stage),
            f"{stage.took_ms:.1f}",
            str(stage.entered),
            str(stage.left),
            output.plain(dropped),
        )
    console.print(table)
    console.print(f"[dim]{took_ms:.1f} ms in the daemon[/]")
