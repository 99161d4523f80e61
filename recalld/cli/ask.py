"""``recall ask`` and ``recall evidence``: an answer with what it relies on, and passages for an answer of one's own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recalld.cli import output, search
from recalld.cli.command import Invocation
from recalld.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire
    from recalld.bus.client import RecallClient

Session = Annotated[
    str | None, typer.Option(metavar="ID", help="A conversation: follow-up questions see what was said in it.")
]
Stream = Annotated[bool, typer.Option("--stream", help="Print the answer as it is written.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Derive the answer anew, whatever is remembered.")]
Budget = Annotated[int | None, typer.Option(metavar="TOKENS", min=64, max=32_000, help="Tokens of evidence at most.")]
Order = Annotated[
    str, typer.Option(metavar="ORDER", help="rank: best first; ends: best first and last, where models read closest.")
]
AskTimeout = Annotated[float, typer.Option(metavar="SECONDS", min=0.001, max=600, help="How long to wait.")]

EXAMPLES = """
recall ask why did we leave the message broker
recall ask "how long do sessions last" --stream
recall ask "and on staging?" --session review
recall ask "which queues do we have" --repo memory --json
"""
EVIDENCE_EXAMPLES = """
recall evidence "do we use redis" --budget 800
recall evidence "deploy freeze" --order ends --json
"""
_SOURCES = {
    "memory": "[green]from memory[/]",
    "retrieval": "[cyan]derived now[/]",
    "reconciled": "[cyan]weighed against memory[/]",
    "abstained": "[yellow]no answer[/]",
}


async def ask(
    cli: Invocation,
    text: search.Words,
    session: Session = None,
    stream: Stream = False,
    fresh: Fresh = False,
    budget: Budget = None,
    repo: search.Repos = None,
    kind: search.Kinds = None,
    tag: search.Tags = None,
    path: search.Glob = None,
    since: search.Since = None,
    until: search.Until = None,
    mode: search.ModeName = None,
    as_of: search.AsOf = None,
    known_as_of: search.KnownAsOf = None,
    min_seq: search.MinSeq = None,
    trace: search.Trace = False,
    timeout: AskTimeout = 120.0,
) -> int:
    """Answer a question, citing what the answer relies on.

    A question that was answered before is answered from memory, unless what that answer relies on has changed since.
    Without an answerer (`ask.answerer`) the best supported sentences are quoted. Exit status 1 when there is no answer.
    """
    fields: dict[str, Any] = {
        "query": " ".join(text),
        "session": session,
        "fresh": fresh,
        "budget": budget,
        "min_seq": min_seq,
        "trace": trace,
        "deadline_ms": round(timeout * 1_000),
        **search.narrowing(repo, kind, tag, path, mode, since, until, as_of, known_as_of),
    }
    async with cli.client() as client:
        if stream:
            reply, said = await _streamed(client, fields, cli.as_json)
        else:
            reply, said = await client.ask(**fields), ""
    if cli.as_json:
        output.reply_json(reply)
    else:
        show(reply, output.console(), words=said.strip() != reply.answer.strip())
    return 1 if reply.abstained else 0


async def _streamed(client: RecallClient, fields: dict[str, Any], as_json: bool) -> tuple[wire.AskReply, str]:
    """Print the words as they come, and return them: to standard error where standard output is for JSON.

    The reply may have others: where what was written did not stand, or nothing had to be written.
    """
    from recalld.bus import wire

    out = sys.stderr if as_json else sys.stdout
    said: list[str] = []
    async with client.asking(**fields) as parts:
        async for part in parts:
            if isinstance(part, wire.AskReply):
                out.write("\n" if said else "")
                out.flush()
                return part, "".join(said)
            said += [part.text] if part.text else []
            out.write(output.terminal(part.text))
            out.flush()
    raise AssertionError("a stream ends with its reply, or raises")


async def evidence(
    cli: Invocation,
    text: search.Words,
    budget: Budget = None,
    order: Order = "rank",
    repo: search.Repos = None,
    kind: search.Kinds = None,
    tag: search.Tags = None,
    path: search.Glob = None,
    since: search.Since = None,
    until: search.Until = None,
    mode: search.ModeName = None,
    as_of: search.AsOf = None,
    known_as_of: search.KnownAsOf = None,
    min_seq: search.MinSeq = None,
    trace: search.Trace = False,
    timeout: search.Timeout = 30.0,
) -> int:
    """Print the passages that an answer may rely on, within a budget of tokens that is kept exactly.

    Standard output has the passages alone, ready for a prompt; what was left out is told on standard error. Exit
    status 1 when there is no evidence. Evidence that something is not so is evidence.
    """
    if order not in ("rank", "ends"):
        raise UsageError(f"there is no order {order}", suggestion="use rank or ends")
    async with cli.client() as client:
        reply = await client.evidence(
            query=" ".join(text),
            budget=budget,
            order=order,
            min_seq=min_seq,
            trace=trace,
            deadline_ms=round(timeout * 1_000),
            **search.narrowing(repo, kind, tag, path, mode, since, until, as_of, known_as_of),
        )
    if cli.as_json:
        output.reply_json(reply)
    else:
        _show_evidence(reply)
    return 1 if reply.abstained else 0


def show(reply: wire.AskReply, console: Console, *, words: bool = True) -> None:
    """Print an answer, what it cites, and how it came about; ``words`` False where they were printed already."""
    if reply.state != "ready":
        console.print(f"[bold]{output.styled(reply.state)}[/]: this is not the daemon's best answer")
    for note in reply.notes:
        console.print(f"[yellow]note[/]: {output.plain(note)}")
    if reply.standalone != reply.query:
        console.print(f"[dim]taken as: {output.plain(reply.standalone)}[/]")
    if reply.abstained:
        console.print(f"[bold]I don't know[/]: {output.plain(reply.reason)}.")
    elif words:
        console.print(output.plain(reply.answer))
    for citation in reply.citations:
        console.print(_citation(citation))
    console.print(_provenance(reply))
    if reply.stale:
        console.print(f"[yellow]an earlier answer no longer stood[/]: {output.plain(reply.stale)}")
    if reply.trace is not None:
        _show_path(reply.path, console)
        search.show_trace(reply.trace, reply.took_ms, console)


def _citation(citation: wire.Citation) -> str:
    sure = "" if citation.confidence is None else f", {citation.confidence:.2f} sure"
    place = f"{citation.repo}:{citation.path}:{citation.lines[0]}-{citation.lines[1]}"
    return f"  [dim]\\[{citation.number}][/] [cyan]{output.plain(place)}[/] [dim]{citation.verdict}{sure}[/]"


def _provenance(reply: wire.AskReply) -> str:
    parts = [_SOURCES[reply.source]]
    if reply.source in ("memory", "reconciled") and reply.memory_confidence is not None:
        parts.append(f"{reply.memory_confidence:.2f} sure that it fits")
    if not reply.abstained:
        parts.append("quoted, no answerer is configured" if reply.quoted else f"by {output.plain(reply.answerer)}")
    if reply.negative:
        parts.append("the evidence says that it is not so")
    parts.append(f"{reply.took_ms:.0f} ms")
    return f"[dim]{', '.join(parts)}[/]"


def _show_path(path: Sequence[wire.PathStep], console: Console) -> None:
    table = output.table("step", "ms", "how it went", numbers=("ms",))
    for step in path:
        table.add_row(output.plain(step.step), f"{step.took_ms:.1f}", output.plain(step.note))
    console.print(table)


def _show_evidence(reply: wire.EvidenceReply) -> None:
    console = output.console(err=True)
    for note in reply.notes:
        console.print(f"[yellow]note[/]: {output.plain(note)}")
    if reply.abstained:
        console.print(f"[bold]no evidence[/]: {output.plain(reply.reason)}.")
        return
    output.say(output.terminal(reply.text))
    said = ", and says that it is not so" if reply.stance == "negative" else ""
    left = f"; {len(reply.dropped)} left out" if reply.dropped else ""
    counted = f"{reply.tokens} of {reply.budget} tokens as {output.plain(reply.counted_by)} counts them"
    console.print(f"[dim]{len(reply.passages)} passages, {counted}{said}{left}[/]")
