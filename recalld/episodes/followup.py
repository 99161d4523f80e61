"""Follow-up questions, made to stand alone: "and on staging?" means what was asked before, on staging. By rules; pure.

A question that names what it is about is left as it is. One that leans on what was said is put behind it, so that
retrieval sees both and a remembered answer belongs to both.
"""

from __future__ import annotations

import re

from recalld.agreement import stems

_LEANS = re.compile(
    r"(?i)^\W*(?:and|but|so|or|also|then|what about|how about|what if|why not|how so|since when|"
    r"really|for example|which one|which ones|what else|anything else|more details?|go on)\b|"
    r"^\W*(?:why|how|when|where|who)\W*$"
)
_POINTS = re.compile(
    r"(?i)\b(?:it|its|they|them|their|those|these|he|she|him|her|that|this|there|the (?:same|former|latter|others?))\b"
)
_OWN = re.compile(
    r"(?i)\bthat (?:is|are|was|were|we|i|you|the|a|an|has|have|can)\b|"
    r"\bthere (?:is|are|was|were)\b|\b(?:is|are|was|were) there\b"
)
"""Words that point at nothing outside the sentence."""
_ENOUGH = 3
"""A question with so many words of its own says what it is about, whatever it points at."""
_LONGEST = 600


def standalone(question: str, earlier: str | None) -> str:
    """Return a question that can be understood alone, given the one before it as that was understood."""
    if not earlier or not leans(question):
        return question
    before = earlier.strip()[-_LONGEST:]
    return f"{before.rstrip('?.! ')}? {question.strip()}"


def leans(question: str) -> bool:
    """Tell whether a question means nothing without what was said before it."""
    own = len(stems(question))
    if _LEANS.search(question):
        return own <= _ENOUGH + 1
    points = _POINTS.search(_OWN.sub(" ", question)) is not None
    return points and own < _ENOUGH
