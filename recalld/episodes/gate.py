"""Whether one question is another in other words. Cosine cannot tell; the words that carry the question must agree.

Everything that a question turns on must be in both: what it asks for and how much of it, numbers, negation, opposites,
the order of steps, names. Words that only one has must be small change ("does", "use", "goes through"), or have a
partner that means the same. Where in doubt two questions are two: deriving an answer anew costs time, serving a wrong
one costs trust. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from recalld import agreement
from recalld.agreement import denies, numbers, opposed
from recalld.analyze import Analyzer
from recalld.episodes.form import Form, form_of, plain
from recalld.episodes.synonyms import LIGHT, SAME, SMALL
from recalld.opposites import STOP

_ANALYZER = Analyzer()
_AS_WRITTEN = re.compile(r"(`[^`]*`|(?<![\w-])--?[A-Za-z][\w-]*)|[^`-]+|.")
_JOINED = re.compile(r"(?<=[a-z])-(?=[a-z])")
LONGEST = 600
"""Characters of a question that is compared with others; reading for order takes time with the square of its words."""
_LEFT_OUT = STOP | SMALL | agreement.NEGATIONS


@dataclass(frozen=True)
class Asked:
    """A question, read for comparing it with others."""

    text: str

    @cached_property
    def normal(self) -> str:
        """The question without case, spacing and end marks: two that have this in common are one."""
        return normal(self.text)

    @cached_property
    def form(self) -> Form:
        """What it asks for."""
        return form_of(self.text)

    @cached_property
    def carried(self) -> tuple[str, ...]:
        """The stems that carry the question, in order; those that mean the same are the same."""
        text = _JOINED.sub(" ", agreement.plain(plain(self.text)))
        stems = (terms[0] for word, terms in _ANALYZER.words(text) if terms and word.casefold() not in _LEFT_OUT)
        return tuple(dict.fromkeys(SAME.get(stem, stem) for stem in stems))

    @cached_property
    def heavy(self) -> frozenset[str]:
        """The stems that must be in both of two questions that are one."""
        return frozenset(self.carried) - LIGHT

    @cached_property
    def gist(self) -> str:
        """A digest of the heavy stems, by which to look for questions that may be the same; "" where nothing is."""
        if not self.heavy or len(self.text) > LONGEST:
            return ""
        return hashlib.sha256(" ".join(sorted(self.heavy)).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Compared:
    """How two questions differ: ``veto`` is why they cannot be one ("" where they may be).

    ``shared`` is the share of the carrying words that both have, ``light`` counts words of small change that one alone
    has.
    """

    veto: str
    shared: float
    light: int


def normal(text: str) -> str:
    """Return a question without case, spacing, and marks at its end. Marks within it may mean something and stay, and
    so does the case of flags and of what is in backticks: ``-v`` is not ``-V``."""
    words = " ".join(text.split()).replace("’", "'").strip(" ?!.…")
    return _AS_WRITTEN.sub(lambda match: match[0] if match[1] else match[0].casefold(), words)


def compare(first: Asked, second: Asked) -> Compared:
    """Compare two questions; the same words never differ, and what is too long to be read closely always does."""
    if first.normal == second.normal:
        return Compared("", 1.0, 0)
    if max(len(first.text), len(second.text)) > LONGEST:
        return Compared("its length", 0.0, 0)
    mine, yours = set(first.carried), set(second.carried)
    alone, heavy = mine ^ yours, sorted(first.heavy ^ second.heavy)
    shared = 2 * len(mine & yours) / max(1, len(mine) + len(yours))
    return Compared(_veto(first, second, heavy), shared, len(alone) - len(heavy))


def _veto(first: Asked, second: Asked, heavy: Sequence[str]) -> str:
    ours, theirs = plain(first.text), plain(second.text)
    return next(
        (
            why
            for why, differs in (
                ("another kind of question", first.form.asks != second.form.asks),
                ("one asks for a list", first.form.scope != second.form.scope),
                ("a number", numbers(ours) != numbers(theirs)),
                ("a negation", denies(ours) != denies(theirs)),
                ("a limit", agreement.limits(ours) != agreement.limits(theirs)),
                ("an opposite", opposed(ours, theirs)),
                ("the order", agreement.turned_round(ours, theirs)),
                ("flags", agreement.flags(ours) != agreement.flags(theirs)),
                (f"the word {heavy[0]}" if heavy else "", bool(heavy)),
                ("no word carries either", not first.heavy),
            )
            if differs
        ),
        "",
    )
