"""``recall_get``: a document, or lines of it, with whether it still stands."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

from pydantic import Field

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.errors import UsageError
from recalld_plugins.mcp.budget import Cut
from recalld_plugins.mcp.declare import Memory

STANDS, UNJUDGED = "stands", "unjudged"
_OF_A_QUESTION = ("ok", "unverified", "low_confidence", "not_entailed")
"""Verdicts that say how well a passage fits a question: its document stands."""
_ASKED = 2_000


class ReadRequest(wire.Request):
    """Which document, and which lines of it (1-based, inclusive)."""

    ref: Annotated[str, Field(min_length=1, max_length=4_096)]
    repo: str | None = None
    first_line: Annotated[int, Field(ge=1)] = 1
    last_line: Annotated[int, Field(ge=1)] | None = None


class Standing(wire.Reply):
    """Whether a document holds now: ``stands``, ``unjudged`` (nothing could be asked), or why it does not."""

    verdict: str
    reason: str = ""
    successor: str | None = None


class ReadReply(wire.Reply):
    """Lines of a document as it was indexed. ``declares`` is what it says of others, as ``supersedes x``."""

    repo: str
    path: str
    title: str
    kind: str
    standing: Standing
    lines: tuple[int, int]
    lines_in_all: int
    text: str
    tags: tuple[str, ...] = ()
    declares: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    content_hash: str
    commit: str | None = None
    indexed_at: datetime
    modified_at: datetime | None = None


async def read(memory: Memory, request: ReadRequest) -> ReadReply:
    """Return the lines asked for. Raises NotFoundError, UsageError for lines that are not there."""
    document = await memory.client.get(wire.GetRequest(ref=request.ref, repo=request.repo))
    lines = _split(document.text)
    last = min(request.last_line or len(lines), len(lines))
    if request.first_line > max(last, 1):
        raise UsageError(
            f"no lines {request.first_line} to {last} in {document.path}, which has {len(lines)}",
            suggestion="ask with first_line and last_line within it",
        )
    return ReadReply(
        repo=document.repo,
        path=document.path,
        title=document.title,
        kind=document.kind,
        standing=await standing(memory.client, document),
        lines=(request.first_line, last),
        lines_in_all=len(lines),
        text="".join(lines[request.first_line - 1 : last]),
        tags=document.tags,
        declares=tuple(f"{edge.kind} {edge.target}" for edge in document.edges),
        findings=tuple(f"{finding.code}: {finding.message}" for finding in document.findings),
        content_hash=document.provenance.content_hash,
        commit=document.provenance.commit,
        indexed_at=document.provenance.indexed_at,
        modified_at=document.modified_at,
    )


async def standing(client: RecallClient, document: wire.GetReply) -> Standing:
    """Ask for the document by its own words: a hit's verdict is that of its document."""
    query = f"{document.title} {document.text}"[:_ASKED].strip() or document.path
    found = await client.search(
        query=query, repo=(document.repo,), path=_exactly(document.path), mode="lexical", all=True, receipt=False
    )
    hit = next((hit for hit in found.hits if hit.path == document.path), None)
    if hit is None:
        return Standing(verdict=UNJUDGED)
    if hit.verdict in _OF_A_QUESTION:
        return Standing(verdict=STANDS)
    return Standing(verdict=hit.verdict, reason=hit.reason, successor=hit.validity.superseded_by)


def _exactly(path: str) -> str:
    """Return a glob that means one path; one without a slash may be in any folder."""
    return re.sub(r"([*?\[])", r"[\1]", path)


def _split(text: str) -> list[str]:
    """Return the lines as a document counts them: by LF alone."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _lines_to(reply: ReadReply, count: int) -> ReadReply:
    first = reply.lines[0]
    text = "".join(_split(reply.text)[:count])
    return reply.model_copy(update={"text": text, "lines": (first, first + count - 1)})


LINES: Cut[ReadReply] = Cut("lines", lambda reply: len(_split(reply.text)), _lines_to, least=1)
