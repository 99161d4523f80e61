"""What a question asks for: a reason, a place, a person, one thing or a list of things. By rules, and pure.

Two questions of different forms never share an answer, however alike they sound: "who is told when it fails" and "when
is somebody told that it fails" have the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_CONTRACTED = (
    (re.compile(r"(?i)\b(ca)n['’]t\b"), "can not"),
    (re.compile(r"(?i)\bwon['’]t\b"), "will not"),
    (re.compile(r"(?i)\bcannot\b"), "can not"),
    (re.compile(r"(?i)n['’]t\b"), " not"),
    (re.compile(r"(?i)\b(what|which|who|when|where|why|how|it|that|there)['’]s\b"), r"\1 is"),
    (re.compile(r"(?i)\bw/o\b"), "without"),
    (re.compile(r"(?i)['’](re|ve|ll|d|m)\b"), ""),
)


class Scope(StrEnum):
    """How much a question asks for: one thing, or all of a kind."""

    SINGLE = "single"
    SET = "set"


@dataclass(frozen=True, slots=True)
class Form:
    """What is asked for (``why``, ``when``, ``what``, ``yesno`` ...) and how much of it."""

    asks: str
    scope: Scope


def plain(text: str) -> str:
    """Write contractions out: "what's" is "what is", "doesn't" is "does not"."""
    for pattern, whole in _CONTRACTED:
        text = pattern.sub(whole, text)
    return text


def form_of(question: str) -> Form:
    """Return the form of a question."""
    text = " ".join(plain(question).casefold().split())
    asks = _asks(text)
    return Form(asks, Scope.SET if asks == "what" and _SET.search(text) else Scope.SINGLE)


_START = (
    r"(?:^|[,:;.?!(–—]\s*|\s-\s+|\b(?:and|explain|tell me|show me|know|say|see|check|"
    r"by|in|to|at|from|for|on|of|with|below|above|until|within|over|under|after|through|which|is|are|was|were)\s+)"
)
_BE = r"(?:is|are|was|were|does|do|did|has|have|had|can|could|may|might|must|should|shall|will|would)"
_WH = r"(?:why|how|when|where|who|whom|whose|what|which|if|whether)\b"
_KINDS = tuple(
    (asks, re.compile(rf"{_START}(?P<core>{pattern})"))
    for asks, pattern in (
        ("why", r"(?:why\b|how come\b|what (?:makes|made|caused|causes)\b)"),
        ("why", r"(?:what|which) (?:is |was )?(?:the |our )?(?:reasons?|causes?|purposes?|rationale|grounds)\b"),
        ("why", r"what (?:[\w/-]+ ){0,3}(?:is|are) [\w /-]+ for\W*$|what purpose\b"),
        ("why", r"(?:the )?(?:reason|cause|rationale|purpose) (?:of|for|why|behind)\b"),
        ("how long", r"how long\b|(?:what|which) (?:is |was )?(?:the )?(?:\w+ )?(?:duration|retention)\b"),
        ("how often", r"how (?:often|frequent\w*)\b|at what intervals?\b|what is the (?:[\w-]+ )?interval\b"),
        ("how many", r"how (?:many|much)\b|what (?:is )?(?:the )?(?:\w+ )?(?:number|amount|quantity|count) of\b"),
        ("how much", r"how (?:big|large|small|fast|slow|high|low|old|early|late|far|deep|wide|heavy|strict)\b"),
        ("when", r"when\b|(?:what|which) (?:exact )?(?:time|date|day|month|year|week|hour|moment|point)\b"),
        ("when", r"what (?:is|was) the (?:\w+ )?(?:deadline|date|time)\b"),
        ("where", r"where\b|(?:what|which) (?:is the )?(?:place|location|directory|folder|path|spot)\b"),
        ("who", r"who(?:m|se)?\b|(?:what|which) (?:person|people)\b"),
        ("how", r"(?:what|which) (?:is |are )?(?:the |our )?(?:way|manner|means|steps?|procedure|process)\b"),
        ("how", r"by what (?:path|route)?\b"),
        ("how", r"what (?:do|should|must|can|would) (?:i|we|you|one|they) do to\b|how\b"),
        ("what", r"(?:what|which)\b"),
        ("what", rf"(?:please )?(?:list|name|enumerate|give|show|tell)\b(?! (?:me |us )?{_WH})"),
    )
)
_YES_NO = re.compile(rf"(?:^|[,:;.?!–—]\s*|\s-\s+){_BE}\s")
_ENDS = re.compile(r"\b(what|which|who|whom|when|where|why|how)\W*$")
_OF_MANY = (
    "(?:apply|belong|block|break|come|contain|cost|count|currently|depend|exist|expire|fail|get|go|hold|keep|listen|live|make|"
    "need|never|read|rely|remain|require|run|send|share|start|stay|still|stop|store|support|take|talk|use|wait|write)"
)
"""Verbs as they stand after more than one ("jobs run", not "job runs"), and what may stand before them."""
_OTHERWISE = {"whom": "who", "which": "what"}
_SET = re.compile(
    rf"""(?x)
    \b(?:list|enumerate|all|every|each|everything|everyone)\b
    | \b(?:what|which|who)\ are\b
    | \b(?:what|which)\ (?!(?:does|is|was|has|happens|becomes|means|makes|causes|goes|comes)\b)[\w-]*[^siu\W]s\b
    | \b(?:what|which)\ [\w-]+\ [\w-]*[^siu\W]s(?:\W*$|\ (?:{_BE}|i|we|you|they|there)\b)
    | \b(?:what|which)\ (?:[\w-]+\ ){{1,2}}[\w-]*[^siu\W]s\ {_OF_MANY}\b
    | ^(?:please\ )?(?:name|give|show|tell)\ (?:me\ |us\ )?(?:the\ |our\ |your\ )?(?:[\w-]+\ )?[\w-]*[^siu\W]s\b
    """
)


def _asks(text: str) -> str:
    """Return what the earliest question word asks for; of those at one place, the narrower kind."""
    found = [
        (match.start("core"), rank, asks)
        for rank, (asks, pattern) in enumerate(_KINDS)
        if (match := pattern.search(text))
    ]
    yes_no, ends = _YES_NO.search(text), _ENDS.search(text)
    if yes_no is not None and ends is None and (not found or yes_no.start() <= min(found)[0]):
        return "yes or no"
    if found:
        return min(found)[2]
    return _OTHERWISE.get(ends[1], ends[1]) if ends else "what"
