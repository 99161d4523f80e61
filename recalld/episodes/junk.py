"""What is no answer: refusals, safety filters, errors, emptiness, output that was cut off. One set of rules for when an
answer is kept, when one is looked up, and when memory is tidied. Pure.
"""

from __future__ import annotations

import re

_START = r"^\W*(?:(?i:hi|hello|hey|sure|certainly|of course)\b[^.\n]{0,30}[.,!]\s*)?"
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "it speaks as a model",
        re.compile(r"(?i)\bas an? (?:ai|artificial intelligence|(?:large )?language model|llm|chatbot|ai assistant)\b"),
    ),
    (
        "it speaks as a model",
        re.compile(r"(?i)\bi(?: a|['’])m (?:just )?an? (?:ai|(?:large )?language model|chatbot)\b"),
    ),
    (
        "it refuses",
        re.compile(
            _START + r"(?i:i(?:['’]m| am)? ?(?:sorry|afraid|unable|not able)\b|i (?:can(?:no|['’])?t|cannot|won['’]?t|"
            r"must decline|do not|don['’]t have (?:access|enough|information|any))|"
            r"unfortunately,? i\b|my apologies|apologies)"
        ),
    ),
    (
        "it refuses",
        re.compile(
            r"(?i)\b(?:cannot|can['’]t|unable to) (?:assist|help|comply|answer|fulfil+) (?:with )?"
            r"(?:you|that|this|your)\b"
        ),
    ),
    (
        "a safety filter spoke",
        re.compile(
            r"(?i)\b(?:(?:flagged|blocked|filtered|stopped|removed|triggered|violat\w+)\W+(?:\w+\W+){0,5}"
            r"(?:content|safety|usage|moderation)\W(?:\w+\W+)?(?:polic(?:y|ies)|filters?|guidelines|system)|"
            r"content_filter|prohibited_content|flagged as (?:unsafe|inappropriate|harmful))\b"
        ),
    ),
    (
        "it is an error",
        re.compile(
            r"(?i)^\W*(?:\{\s*\"(?:error|detail)\"|<!doctype|<html|(?:http )?(?:error )?[45]\d\d\b[ :]|"
            r"error:|exception:|"
            r"traceback \(most recent|internal server error|bad gateway|service unavailable|gateway time-?out|"
            r"(?:rate limit|quota) (?:exceeded|reached)|too many requests|(?:request )?timed? ?out|upstream|"
            r"context length exceeded)"
        ),
    ),
    (
        "it says that it does not know",
        re.compile(
            r"(?i)^\W*(?:i (?:do not|don['’]t) know|(?:there is|there['’]s|i (?:see|find|have|found)) no "
            r"(?:information|mention|evidence|data)|"
            r"no (?:relevant )?(?:answers?|information|results?|evidence|passages?)\b(?:\W*$| (?:(?:was|were|is|are) )?"
            r"(?:found|available|given|provided|to be found|in (?:the|these|this|those|my|your|our))\b)|"
            r"not (?:mentioned|specified|stated|found)\b|n/?a\W*$|none\W*$|unknown\W*$|null\W*$|undefined\W*$|"
            r"the (?:provided )?(?:context|passages|evidence|documents?) (?:do(?:es)? not|don['’]t|doesn['’]t))"
        ),
    ),
    (
        "it left a template unfilled",
        re.compile(r"\{\{\s*\w+\s*\}\}|<\|[a-z_]+\|>|\[(?:INST|/INST|insert [^]]+)\]|(?i:lorem ipsum)"),
    ),
)
_UNCITED = frozenset({"it is an error", "a safety filter spoke"})
"""What never cites anything; an answer that does may speak of errors and filters."""
_MARKER = re.compile(r"\[\d[\d, ]*\]")
_QUOTE = re.compile(r"“[^”]*”")
_ENDED = re.compile(r"[.!?…。！？:;)\]}>\"'”’`*_|\d]\s*$")
_LONG = 400
"""Characters from which an answer must end as text ends; a short one may be a name or a list."""


def junk(answer: str, *, finished: bool = True) -> str:
    """Return why an answer is none, in words; empty for an answer. ``finished`` False: its maker was cut off.

    What it quotes in “ ” is not its own word, and may say anything.
    """
    said = _MARKER.sub("", answer).strip()
    if not any(character.isalnum() for character in said):
        return "it is empty"
    if not finished:
        return "it was cut off"
    own, cites = _QUOTE.sub("“”", said), _MARKER.search(answer) is not None
    for why, pattern in _RULES:
        if pattern.search(own) and not (cites and why in _UNCITED):
            return why
    if len(said) >= _LONG and not _ENDED.search(answer.strip()):
        return "it was cut off"
    return "it repeats itself" if _loops(said) else ""


def _loops(text: str) -> bool:
    """Tell whether a text says one line or run of words again and again."""
    words = text.split()
    if len(words) < 40:
        return False
    runs = [tuple(words[at : at + 4]) for at in range(len(words) - 3)]
    return len(set(runs)) < 0.4 * len(runs)
