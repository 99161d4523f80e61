"""Answers and evidence in words, for models that read only those."""

from __future__ import annotations

from recalld.bus import wire
from recalld_plugins.mcp.quoting import name, place, quoted

_SOURCES = {
    "memory": "It was derived before, and what it rests on still stands",
    "retrieval": "It was derived now",
    "reconciled": "It was weighed against an earlier answer",
}


def ask(reply: wire.AskReply) -> str:
    """Tell the answer with what it cites, or the abstention."""
    lines = [] if reply.state == "ready" else [f"The daemon is {reply.state}: this is not its best answer."]
    lines += [f"Note: {name(note)}" for note in reply.notes]
    if reply.standalone != reply.query:
        lines.append(f"The question was taken as {name(reply.standalone)}.")
    if reply.abstained:
        lines.append(f"I don't know: {name(reply.reason)}.")
        return "\n".join(lines)
    quotes = ", in quotes of its passages" if reply.quoted else f", by {name(reply.answerer)}"
    lines += [f"{_SOURCES[reply.source]}{quotes}.", quoted(reply.answer)]
    if reply.negative:
        lines.append("What it rests on says that it is NOT so.")
    lines += [_cited(citation) for citation in reply.citations]
    if reply.stale:
        lines.append(f"An earlier answer no longer stood: {name(reply.stale)}.")
    if reply.receipt:
        lines.append(f"Receipt: {reply.receipt} (recall_receipts says later whether this still stands)")
    return "\n".join(lines)


def evidence(reply: wire.EvidenceReply) -> str:
    """Tell the passages by number, or that there are none."""
    lines = [] if reply.state == "ready" else [f"The daemon is {reply.state}: this is not its best answer."]
    lines += [f"Note: {name(note)}" for note in reply.notes]
    if reply.abstained:
        lines.append(f"There is no evidence: {name(reply.reason)}.")
        return "\n".join(lines)
    if reply.stance == "negative":
        lines.append("The evidence says that it is NOT so.")
    lines += [f"{_cited(passage)}\n{quoted(passage.text)}" for passage in reply.passages]
    if reply.receipt:
        lines.append(f"Receipt: {reply.receipt} (recall_receipts says later whether this still stands)")
    return "\n".join(lines)


def put(reply: wire.PutReply) -> str:
    """Tell where the document stands now."""
    lines = [f"{reply.action}: {place(reply.repo, reply.path)}, from {name(reply.source)}"]
    lines += [f"Note: {name(note)}" for note in reply.notes]
    lines.append(f"A search with min_seq={reply.seq} sees it.")
    return "\n".join(lines)


def _cited(citation: wire.Citation) -> str:
    sure = f", confidence {citation.confidence:.0%}" if citation.confidence is not None else ""
    where = place(citation.repo, citation.path, citation.lines)
    return f"[{citation.number}] {where}, id {citation.id}: verdict {citation.verdict}{sure}"
