"""Words of questions that mean the same, and small change that carries nothing. Stems, as the analyzer makes them."""

from __future__ import annotations

from collections.abc import Mapping

from recalld.analyze import Analyzer

_ANALYZER = Analyzer()
_SAME = """
stop halt cancel void abort
remove delete erase drop kick
add append
pick choose select
approve sign-off
yearly annual annually
daily everyday
consecutive row successive
min minimum least
repair fix mend resolve
begin start commence
end finish final
detect notice spot recognise recognize
store save persist
keep retain
pay paid salary wage
update refresh renew
compute calculate work-out
rebuild reindex
catalogue catalog
visible see view show display
change modify alter edit
broken bad faulty dead down
limit cap ceiling
configure configuration config set-up setup
doc document documentation
repo repository
db database
prod production
env environment
kubernetes k8s
postgres postgresql pg
app application
info information
spec specification
id identifier
dir directory folder
msg message
password passwd pw
avg average
admin administrator
temp temporary
avoid prevent
fast quick quickly rapid rapidly
big large size
slow slowly
previous former prior earlier old
wrong incorrect
right correct
issue problem trouble
rule policy
own responsible charge
occur happen
need require
allow permit let
forbid prohibit
ask request
answer reply respond
transmit emit
publish release
create generate
buy purchase
help assist
try attempt
check verify validate
shut close
fetch retrieve
revert undo rollback
deploy ship
cost price
accrue earn
vacation holiday
car vehicle
speed velocity
trigger fire cause
crash outage
error fault
duty obligation
reach contact
replace swap substitute
convert transform
combine merge join
split divide
decrease reduce lower
increase raise
encrypt cipher
whole entire complete
main principal
empty blank
identical same equal
similar alike
"""
_IRREGULAR = """
keep kept
hold held
send sent
make made
do done did
take took taken
sell sold
write wrote written
rewrite rewritten
build built
rebuild rebuilt
run ran
pay paid
choose chose chosen
break broke broken
find found
begin began begun
go went gone goes
give gave given
leave left
lose lost
mean meant
buy bought
bring brought
see saw seen
say said
tell told
think thought
get got gotten
set setting
deal dealt
feed fed
fall fell fallen
lie lay lain
read reading
spend spent
speak spoke spoken
speed sped
steal stole stolen
throw threw thrown
understand understood
win won
freeze froze frozen
rise rose risen
fly flew flown
draw drew drawn
drive drove driven
know knew known
become became
own owner ownership
overwrite overwrote overwritten
decide decision
deliver delivery deliveries
approve approval
retain retention
fail failure
remove removal
choose choice
receive receipt reception
respond response
explain explanation
compare comparison
february feb
january jan
august aug
september sep sept
october oct
november nov
december dec
"""
_LIGHT = """
use go come get take put have make do happen become work run serve hold keep store give belong involve
possible allow allowed able free must need have-to supposed
mean means meaning called call
currently now today still already exactly actually really right
thing stuff kind sort type one ones
existing exist available
handle deal treat deal-with
happens rule formula value setting
someone somebody anyone anybody person people
process system
stay remain lie force
through over under above below towards toward against between within until up out off into onto about around around
come-out max maximum big
please tell know explain say
"""
_SMALL = """
what which who whom whose when where why how list name show give tell enumerate please me us i we you it they
can could may might must should shall will would do does did is are was were has have had be been being get gets got
per there here then so just also too reason reasons cause purpose way manner means steps step procedure place location
interval frequency month year moment week hour time date day deadline long often many much number amount
"""


def _stem(word: str) -> str:
    return next((terms[0] for _, terms in _ANALYZER.words(word) if terms), word)


def _groups(*lists: str) -> dict[str, str]:
    """Return the stem that stands for each; a word whose first is in an earlier group goes where that goes."""
    found: dict[str, str] = {}
    for line in filter(None, "".join(lists).splitlines()):
        first, *rest = (_stem(word) for word in line.split())
        for word in (first, *rest):
            found.setdefault(word, found.get(first, first))
    return found


SAME: Mapping[str, str] = _groups(_SAME, _IRREGULAR)
"""A stem, and the stem that stands for all of its meaning."""
LIGHT: frozenset[str] = frozenset(SAME.get(_stem(word), _stem(word)) for word in _LIGHT.split())
"""Stems that one question may have and the other not."""
SMALL: frozenset[str] = frozenset(_SMALL.split())
"""Words that say what kind of question it is, which :mod:`recalld.episodes.form` reads."""
