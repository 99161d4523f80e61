"""The tools, each declared once. One more is one more entry here, and words for its reply in ``wording.py``."""

from __future__ import annotations

from typing import Any

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld_plugins.mcp import wording
from recalld_plugins.mcp.answer_tools import ASK, EVIDENCE, PUT
from recalld_plugins.mcp.budget import characters, inside, items
from recalld_plugins.mcp.declare import ADDS, DROPS, Tool, verb
from recalld_plugins.mcp.indexing import IndexReply, IndexRequest, index
from recalld_plugins.mcp.lesson_tools import LESSON_TOOLS
from recalld_plugins.mcp.linting import LintReply, LintRequest, lint
from recalld_plugins.mcp.reading import LINES, ReadReply, ReadRequest, read

_REPO = "Name of a watched repo; recall_stats lists them."
_REPOS = "Only in these repos, by name."
_REF = "A path in a repo, repo:path, or the id of a hit."


def _named_only(reply: wire.SearchReply) -> wire.SearchReply:
    """Leave out the text of what is withheld, and what only a trace needs."""
    return reply.model_copy(
        update={
            "trace": None,
            "hits": tuple(hit.model_copy(update={"scores": {}}) for hit in reply.hits),
            "withheld": tuple(hit.model_copy(update={"scores": {}, "text": ""}) for hit in reply.withheld),
        }
    )


SEARCH = Tool(
    name="recall_search",
    title="Search the memory",
    description=(
        "Find the passages of the memory that answer a question, with how far each may be believed. Ask before you "
        "propose or decide something that may have been decided before, and whenever you would guess at a fact of "
        "this project. Verdict ok may be relied on; unverified holds but nothing measured how well it fits; what is "
        "withheld was superseded, is over, or does not answer: never rely on it. An abstention means that the memory "
        "does not know: say so instead of guessing."
    ),
    request=wire.SearchRequest,
    reply=wire.SearchReply,
    ask=verb(RecallClient.search),
    tell=wording.search,
    arguments={
        "query": "The question, in words as the memory might put it.",
        "k": "How many passages at most.",
        "mode": "How to look; lexical finds exact names and codes. Leave it out otherwise.",
        "repo": _REPOS,
        "kind": "Only these kinds of document, as decision, lesson, rule, note.",
        "tag": "Only documents with all of these tags.",
        "path": "Only paths that fit this glob, as decisions/**.",
        "since": "Only files modified since (ISO 8601).",
        "until": "Only files modified until then (ISO 8601).",
        "as_of": "What was valid then (ISO 8601); default now.",
        "known_as_of": "By what the memory knew then (ISO 8601); default all that it knows.",
        "all": "Give what does not hold, too, at the end and in full, with its verdict.",
        "min_seq": "Wait until this ingest sequence, which recall_index and recall_supersede give, is indexed.",
    },
    hidden=frozenset({"receipt", "trace"}),
    cuts=(
        *(items("withheld", least=2), items("hits", least=1), items("withheld")),
        *(inside("hits", characters("text")), characters("query"), items("notes"), items("hits")),
    ),
    plain=_named_only,
)
GET = Tool(
    name="recall_get",
    title="Read a document of the memory",
    description=(
        "Read a document, or lines of it, as it was indexed, with whether it still stands. Use it when a hit of "
        "recall_search is not enough by itself."
    ),
    request=ReadRequest,
    reply=ReadReply,
    ask=read,
    tell=wording.read,
    arguments={
        "ref": _REF,
        "repo": _REPO,
        "first_line": "Where to begin, counted from 1.",
        "last_line": "The last line; default the end.",
    },
    cuts=(
        *(items("findings", least=3), LINES, characters("text")),
        *(items("findings"), items("declares"), items("tags")),
    ),
)
PREFLIGHT = Tool(
    name="recall_preflight",
    title="What to check before an act",
    description=(
        "Say what you are about to do, and get the lessons and rules that apply to it, if any. Ask before acts that "
        "are hard to take back: deploys, migrations, pushes, deletions, mails."
    ),
    request=wire.PreflightRequest,
    reply=wire.PreflightReply,
    ask=verb(RecallClient.preflight),
    tell=wording.preflight,
    arguments={
        "text": "What you are about to do, in words.",
        "tool": "The tool that does it, as Bash or Edit.",
        "path": "The file that it changes.",
        "command": "The shell command that it runs.",
        "cwd": "The directory that you work in.",
        "repo": "Only by these repos, by name.",
        "limit": "How many lines at most.",
    },
    hidden=frozenset({"session"}),
    cuts=(items("checks", least=1), inside("checks", characters("check")), items("checks")),
)
CHECK = Tool(
    name="recall_check",
    title="Check a memo before saving it",
    description=(
        "Give a memo that you are about to save, and learn what in the memory it repeats, contradicts or probably "
        "replaces. Nothing is saved."
    ),
    request=wire.CheckRequest,
    reply=wire.CheckReply,
    ask=verb(RecallClient.check),
    tell=wording.check,
    arguments={"path": "Where it will stand, in the repo.", "text": "The memo, frontmatter and all.", "repo": _REPO},
    cuts=(items("findings", least=1), inside("findings", characters("message")), items("findings")),
)
SUPERSEDE = Tool(
    name="recall_supersede",
    title="Record that a document replaced another",
    description=(
        "Record that one document of the memory replaced another, and why. The old one is withheld from searches from "
        "then on. It writes a small record file into the repo; with dry_run it only says whether it would have effect."
    ),
    request=wire.SupersedeRequest,
    reply=wire.SupersedeReply,
    ask=verb(RecallClient.supersede),
    tell=wording.supersede,
    effects=ADDS,
    arguments={
        "old": f"What was replaced: {_REF}",
        "new": f"What replaced it: {_REF}",
        "repo": _REPO,
        "why": "The reason, in a sentence or two.",
        "dry_run": "Write nothing.",
    },
)
INDEX = Tool(
    name="recall_index",
    title="Index what changed on disk",
    description=(
        "Compare the watched files with the index and index what differs. Files are watched, so this is seldom "
        "needed: after a bulk change, or where recall_stats says that the index is behind. It may take minutes."
    ),
    request=IndexRequest,
    reply=IndexReply,
    ask=index,
    tell=wording.index,
    effects=ADDS,
    arguments={
        "repo": _REPO,
        "path": "Only this path of the repo.",
        "force": "Read every file again, also those that look unchanged.",
        "wait": "Answer when all that was found is indexed.",
    },
    cuts=(items("reports"),),
)
FORGET = Tool(
    name="recall_forget",
    title="Keep a document out of the memory",
    description=(
        "Drop a document from the index and keep it out while its file stays. The file is not touched, and undo=true "
        "lets it back in. Only when a person asked for it: what is outdated is superseded, not forgotten."
    ),
    request=wire.ForgetRequest,
    reply=wire.ForgetReply,
    ask=verb(RecallClient.forget),
    tell=wording.forget,
    effects=DROPS,
    arguments={"ref": _REF, "repo": _REPO, "undo": "Let a forgotten document back in."},
)
STATS = Tool(
    name="recall_stats",
    title="What is indexed, and how fresh it is",
    description="List the repos with how much of each is indexed, what waits, and which files have faults.",
    request=wire.StatsRequest,
    reply=wire.StatsReply,
    ask=verb(RecallClient.stats),
    tell=wording.stats,
    arguments={"repo": _REPO, "findings": "How many faults at most."},
    cuts=(items("findings"), items("generations", least=1), items("repos"), items("generations")),
)
LINT = Tool(
    name="recall_lint",
    title="What is wrong with the memory's files",
    description=(
        "Look for what is wrong with the files of a watched repo on this machine: supersessions that lead nowhere or "
        "in circles, dates, links, secrets, leftovers. Nothing is changed."
    ),
    request=LintRequest,
    reply=LintReply,
    ask=lint,
    tell=wording.lint,
    arguments={
        "repo": _REPO,
        "path": "Only tell of this file.",
        "min_severity": "Least that is told.",
    },
    cuts=(items("findings"),),
)
RECEIPTS = Tool(
    name="recall_receipts",
    title="Whether earlier answers still stand",
    description=(
        "Tell of an answer that recall_search gave whether it still stands, and if not, what happened to what it "
        "cited. Ask before you act on something that you looked up a while ago."
    ),
    request=wire.ReceiptsRequest,
    reply=wire.ReceiptsReply,
    ask=verb(RecallClient.receipts),
    tell=wording.receipts,
    arguments={"id": "The receipt; without it the newest answers are listed.", "limit": "How many are listed."},
    cuts=(inside("receipts", items("citations", least=1)), items("receipts")),
)

_ALL: tuple[Tool[Any, Any], ...] = (
    *(SEARCH, ASK, EVIDENCE, GET, PREFLIGHT, CHECK),
    *(SUPERSEDE, PUT, INDEX, FORGET),
    *(STATS, LINT, RECEIPTS),
    *LESSON_TOOLS,
)
TOOLS = {tool.name: tool for tool in _ALL}
"""Every tool by its name, in the order in which they are listed."""
