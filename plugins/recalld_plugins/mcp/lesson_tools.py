"""The tools that lessons live by: learned, marked, looked after."""

from __future__ import annotations

from typing import Any

from recalld.bus import wire
from recalld.bus.client import RecallClient
from recalld_plugins.mcp import lesson_wording as wording
from recalld_plugins.mcp.budget import characters, inside, items
from recalld_plugins.mcp.declare import ADDS, DROPS, Tool, verb

_REPO = "Name of a watched repo; needed where there are several."
_OF = "Only of this repo."


def _counts_only(reply: wire.MaintainReply) -> wire.MaintainReply:
    """Leave of each step's result what is a number: the rest is asked for with a tool of its own."""
    steps = tuple(
        step.model_copy(update={"result": {key: value for key, value in step.result.items() if _is_count(value)}})
        for step in reply.steps
    )
    return reply.model_copy(update={"steps": steps})


def _is_count(value: object) -> bool:
    return isinstance(value, int | float)


LEARN = Tool(
    name="recall_learn",
    title="Remember a lesson",
    description=(
        "Write down what went wrong and what to check next time, as a file of the memory that people review. Use your "
        "own words: what the memory told you is refused, and so are secrets. The same lesson again is counted, not "
        "written twice. With proposed it is silent until somebody accepts it."
    ),
    request=wire.LearnRequest,
    reply=wire.LearnReply,
    ask=verb(RecallClient.learn),
    tell=wording.learn,
    effects=ADDS,
    arguments={
        "title": "What it is about, in one line.",
        "check": "The question to ask before the next such act, in one line.",
        "body": "What happened, why, and what to do instead.",
        "repo": _REPO,
        "scope": "Globs of the files that it is about.",
        "tags": "Words to find it by.",
        "trigger": "What shows that it applies, as an error's text.",
        "proposed": "Let it wait to be accepted.",
    },
)
MARK = Tool(
    name="recall_mark",
    title="Say whether a lesson helped",
    description="Tell of a lesson or rule that recall_preflight or recall_search gave whether it helped or failed.",
    request=wire.MarkRequest,
    reply=wire.MarkReply,
    ask=verb(RecallClient.mark),
    tell=wording.mark,
    effects=ADDS,
    arguments={"ref": "The id that was told with it.", "outcome": "helped or failed.", "repo": _REPO},
)
AUDIT = Tool(
    name="recall_audit",
    title="How lessons and rules fare",
    description=(
        "Say which rules, skills and lessons were never used, no longer hold, say the same or wait to be accepted, and "
        "how many tokens are saved by showing only what applies."
    ),
    request=wire.AuditRequest,
    reply=wire.AuditReply,
    ask=verb(RecallClient.audit),
    tell=wording.audit,
    arguments={"repo": _OF},
    cuts=(
        *(inside("repos", items("never_used", least=3)), inside("repos", items("stale", least=3))),
        *(inside("repos", items("never_used")), inside("repos", items("duplicates")), items("repos")),
    ),
)
PRUNE = Tool(
    name="recall_prune",
    title="Put away lessons that nobody needs",
    description=(
        "Say which lessons may be put away, and why the others stay. With apply=true they are moved into an archive "
        "folder, and the run named here brings them back; do that only when a person asked for it."
    ),
    request=wire.PruneRequest,
    reply=wire.PruneReply,
    ask=verb(RecallClient.prune),
    tell=wording.prune,
    effects=DROPS,
    arguments={"repo": _OF, "apply": "Move them."},
    cuts=(
        *(inside("repos", items("kept", least=5)), inside("repos", items("proposed"))),
        *(inside("repos", items("kept")), items("repos")),
    ),
)
CONSOLIDATE = Tool(
    name="recall_consolidate",
    title="Lessons that say the same",
    description=(
        "Show groups of lessons that say the same, with the one that would take their place. accept merges groups by "
        "their ids, as they were shown; do that only when a person asked for it."
    ),
    request=wire.ConsolidateRequest,
    reply=wire.ConsolidateReply,
    ask=verb(RecallClient.consolidate),
    tell=wording.consolidate,
    effects=DROPS,
    arguments={"repo": _OF, "accept": "Ids of groups to merge."},
    cuts=(inside("groups", characters("diff")), inside("groups", characters("merged")), items("groups")),
)
MAINTAIN = Tool(
    name="recall_maintain",
    title="One pass of maintenance",
    description=(
        "Audit, propose what may be put away and what could be merged, lint, and compare the index with the disk. It "
        "puts nothing away unless the settings say so (lessons.auto_prune)."
    ),
    request=wire.MaintainRequest,
    reply=wire.MaintainReply,
    ask=verb(RecallClient.maintain),
    tell=wording.maintain,
    effects=ADDS,
    arguments={"repo": _OF},
    cuts=(items("steps"),),
    plain=_counts_only,
)

LESSON_TOOLS: tuple[Tool[Any, Any], ...] = (LEARN, MARK, AUDIT, PRUNE, CONSOLIDATE, MAINTAIN)
