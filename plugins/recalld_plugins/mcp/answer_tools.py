"""The tools that answer in sentences, give evidence, and put documents in."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld.bus.wire.put import PART_BYTES
from recalld.errors import DependencyError, TooLargeError
from recalld_plugins.mcp import answer_wording
from recalld_plugins.mcp.budget import characters, inside, items
from recalld_plugins.mcp.declare import ADDS, Effects, Memory, Tool, verb

_CIRCUMSTANCES = {
    "query": "The question, in words as the memory might put it.",
    "budget": "Tokens of evidence at most; the setting ask.budget where left out.",
    "repo": "Only in these repos, by name.",
    "kind": "Only these kinds of document, as decision, lesson, rule, note.",
    "tag": "Only documents with all of these tags.",
    "path": "Only paths that fit this glob, as decisions/**.",
    "since": "Only files modified since (ISO 8601).",
    "until": "Only files modified until then (ISO 8601).",
    "mode": "How to look; lexical finds exact names and codes. Leave it out otherwise.",
    "as_of": "What was valid then (ISO 8601); default now.",
    "known_as_of": "By what the memory knew then (ISO 8601); default all that it knows.",
    "min_seq": "Wait until this ingest sequence, which recall_index and recall_put give, is indexed.",
}
_HIDDEN = frozenset({"receipt", "trace"})


class PutTextRequest(wire.Request):
    """A document to put in: a page by its URL, or a text under a name."""

    source: Annotated[str, Field(min_length=1, max_length=2_048)]
    text: Annotated[str, Field(max_length=PART_BYTES)] | None = None
    title: Annotated[str, Field(max_length=500)] = ""
    name: Annotated[str, Field(max_length=200)] = ""
    repo: str | None = None
    replace: bool = False


async def _ask(memory: Memory, request: wire.AskRequest) -> wire.AskReply:
    """Ask, and tell of each step as it begins."""
    done = 0
    async with memory.client.asking(request) as parts:
        async for part in parts:
            if isinstance(part, wire.AskReply):
                return part
            if part.step:
                done += 1
                await memory.progress(done, None, part.step)
    raise DependencyError("the answer ended before it was whole", suggestion="ask again")


async def _put(memory: Memory, request: PutTextRequest) -> wire.PutReply:
    if request.text is None:
        await memory.progress(1, None, "fetching")
        return await memory.client.put(
            source=request.source, title=request.title, name=request.name, repo=request.repo, replace=request.replace
        )
    content = request.text.encode("utf-8", "surrogatepass")
    if len(content) > PART_BYTES:
        raise TooLargeError(f"the text has {len(content)} bytes, {PART_BYTES} are allowed", suggestion="put less")
    return await memory.client.put(
        source=f"stdin:{request.source}",
        content=content,
        media_type="text/markdown",
        title=request.title,
        name=request.name,
        repo=request.repo,
        replace=request.replace,
    )


ASK = Tool(
    name="recall_ask",
    title="Ask the memory",
    description=(
        "Get an answer to a question from the memory, with the passages that it rests on. An answer that was given "
        "before and still stands comes at once; else it is derived now. Where the memory does not know it says so: do "
        "not guess then. Use recall_search or recall_evidence to judge passages yourself."
    ),
    request=wire.AskRequest,
    reply=wire.AskReply,
    ask=_ask,
    tell=answer_wording.ask,
    effects=Effects(read_only=True, idempotent=False),
    arguments=_CIRCUMSTANCES
    | {
        "session": "A conversation of yours, by any id: follow-up questions see what was said in it.",
        "fresh": "Derive the answer anew, whatever is remembered.",
    },
    hidden=_HIDDEN | {"stream"},
    cuts=(
        *(items("path"), inside("citations", characters("text")), items("notes"), items("citations", least=1)),
        *(characters("answer"), characters("query"), characters("standalone"), items("notes"), items("citations")),
    ),
    plain=lambda reply: reply.model_copy(update={"trace": None}),
)
EVIDENCE = Tool(
    name="recall_evidence",
    title="Passages for an answer of your own",
    description=(
        "Get the passages that an answer may rely on, without repetitions, within an exact budget of tokens. The "
        "stance tells no evidence from evidence that it is not so. Use it to write an answer yourself and cite it."
    ),
    request=wire.EvidenceRequest,
    reply=wire.EvidenceReply,
    ask=verb(RecallClient.evidence),
    tell=answer_wording.evidence,
    arguments=_CIRCUMSTANCES | {"order": "rank: best first; ends: the best first and last."},
    hidden=_HIDDEN,
    cuts=(
        *(items("dropped"), items("passages", least=1)),
        *(inside("passages", characters("text")), items("notes"), characters("query"), items("passages")),
    ),
    plain=lambda reply: reply.model_copy(update={"text": "", "trace": None}),
)
PUT = Tool(
    name="recall_put",
    title="Put a document into the memory",
    description=(
        "Keep a page (by its URL) or a text as a document of a repo, with where it is from. The same source again "
        "updates the same file. Put what others wrote; what was decided or learned here is better a memo or a lesson."
    ),
    request=PutTextRequest,
    reply=wire.PutReply,
    ask=_put,
    tell=answer_wording.put,
    effects=ADDS,
    arguments={
        "source": "A URL that is fetched; or with text, a name for where the text is from.",
        "text": "The document itself, as markdown, instead of fetching the source.",
        "title": "Its title; default what the document says.",
        "name": "What the file is called; default by its source.",
        "repo": "Name of a watched repo; recall_stats lists them.",
        "replace": "Replace the file also where a person has edited it since.",
    },
    cuts=(items("notes"), characters("title")),
)
