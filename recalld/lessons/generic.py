"""Words that say nothing of what an act is about: every plan and every lesson has some of them.

What is common among a memory's own guardrails is learnt from them (:class:`recalld.lessons.match.Gate`); these are
common everywhere, also where a memory has too few guardrails to tell.
"""

from __future__ import annotations

from recalld.analyze import Analyzer

_WORDS = """
    add use make get set new old next instead yet directly first last zero one two three four five six seven eight
    nine ten once twice half time day week month year minute hour second millisecond today tomorrow yesterday now later
    soon early late right left well good bad better best small big large little long short high low same other another
    each every all any some many much more most less least few several whole full own thing stuff work need want like
    let keep take give go come put show see look find try start begin end stop run call do help part side place kind way
    please just only also still even again already always never really very too so then than there here when while
    before after since until because if else not no yes ok done up down out over under off back away through between
    against without within during about around into onto return using user people person team someone everyone anybody
    something anything everything nothing example detail section sentence paragraph note describe explain reason problem
    issue result line name word text number case item list page step version option default main app src lib web
    component view style util helper common core base button label icon colour color
    py ts tsx js jsx json yaml yml toml md html css sh txt sql python typescript javascript
    class method function variable constant argument parameter value type code script module package
    can could should would may might must shall will wish hope seem turn bring seen made makes making
    currently simply really quickly slowly exactly nearly almost maybe perhaps per via etc
"""


def _terms() -> frozenset[str]:
    analyzer = Analyzer()
    return frozenset(term for _, terms in analyzer.words(_WORDS) for term in terms)


GENERIC = _terms()
"""The terms of such words, as the analyzer makes them."""
