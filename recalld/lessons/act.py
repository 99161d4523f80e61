"""Whether an act can do harm at all: looking at things cannot, and neither can words about the code. Pure.

Most acts that share words with a lesson only look at what the lesson is about. Telling them apart by what a command
does keeps lessons silent there, without asking for more words in common elsewhere.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from recalld.lessons.commands import only_shows
from recalld.lessons.guardrail import Action

READING_TOOLS = frozenset({"read", "grep", "glob", "ls", "webfetch", "websearch", "notebookread"})
_PROSE = frozenset({".md", ".markdown", ".rst", ".txt", ".adoc"})
_LOOKING = re.compile(
    r"^\W*(?:answer|collect|compare|count|describe|document|explain|find|gather|go through|list|look|"
    r"read|review|search|see|show|summari[sz]e|tell|understand|what|where|which|who|why|how)\b",
    re.IGNORECASE,
)
_WORDING = re.compile(
    r"\b(?:comments?|docstrings?|wording|reword\w*|typos?|spelling|rename[sd]? (?:the )?(?:local|variable|test)|"
    r"type hints?|annotate \w+ as|type annotations?|__repr__|label|heading|whitespace|indentation|formatting)\b",
    re.IGNORECASE,
)


_DOING = re.compile(
    r"\b(?:add|change|delete|drop|fix|let|make|move|put|remove|rename|replace|set|take out|turn|update|write)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(?:chang(?:e|es|ing) nothing|no changes|nothing (?:is |gets )?changed|(?:only read|read(?:ing)?[ -]only))\b",
    re.IGNORECASE,
)
_LOCAL = re.compile(
    r"\b(?:local(?:ly|host)?|127\.0\.0\.1|sandbox|scratch|throw-?away|playground|docker compose|"
    r"my (?:own )?(?:new )?(?:feature |topic )?branch)\b",
    re.IGNORECASE,
)


def is_local(action: Action) -> bool:
    """Tell whether an act says that nobody else relies on what it touches: a local copy, a sandbox, an own branch."""
    return bool(_LOCAL.search(action.words))


def is_harmless(action: Action) -> bool:
    """Tell whether an act only looks, only checks, or only changes words."""
    tool = action.tool.casefold()
    if tool in READING_TOOLS:
        return True
    if action.command:
        return only_shows(action.command)
    if action.path:
        return _is_prose(action.path) or bool(_WORDING.search(action.text))
    return bool(_NOTHING.search(action.text) or (_LOOKING.match(action.text) and not _DOING.search(action.text)))


def _is_prose(path: str) -> bool:
    pure = PurePosixPath(path)
    return pure.suffix.casefold() in _PROSE or any(part in ("docs", "test", "tests") for part in pure.parts)
