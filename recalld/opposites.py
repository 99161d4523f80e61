"""Words that turn a lesson into another: opposites, numbers in words; and those that do not: synonyms, small words."""

from __future__ import annotations

from collections.abc import Mapping

_PAIRS = """
enable enables enabled enabling | disable disables disabled disabling
on | off
add adds added adding | remove removes removed removing drop drops dropped delete deletes deleted
allow allows allowed permit permits permitted | deny denies denied forbid forbids forbidden block blocks refuse
start starts started starting | stop stops stopped stopping
open opens opened | close closes closed
increase increases increased raise raises raised | decrease decreases decreased lower lowers lowered reduce reduces
up | down
upper | lower
above | below
inside within | outside
include includes included including | exclude excludes excluded excluding
install installs installed | uninstall uninstalls uninstalled
upgrade upgrades upgraded | downgrade downgrades downgraded
lock locks locked | unlock unlocks unlocked
mount mounts mounted | unmount unmounts unmounted
encode encoded | decode decoded
encrypt encrypted | decrypt decrypted
compress compressed | decompress decompressed
grant granted | revoke revoked
show shown | hide hidden
read reads | write writes
push pushed | pull pulled
import imported | export exported
upload uploaded | download downloaded
minimum min least | maximum max most
first | last
always | never
true yes | false no
with | without
public | private
sync synchronous | async asynchronous
primary leader master | replica follower standby
client | server
staging | production prod
ascending | descending
left | right
more | less fewer
longer | shorter
larger bigger | smaller
keep keeps kept | delete deletes deleted drop drops dropped discard discarded
commit commits committed | rollback revert reverts reverted
merge merged | rebase rebased
attach attached | detach detached
connect connected | disconnect disconnected
inbound incoming ingress | outbound outgoing egress
until | from since
use uses used | avoid avoids avoided
strict | lenient
manual manually | automatic automatically
local | remote
seconds second | milliseconds ms | minutes minute | hours hour | days day
bytes | kilobytes kb kib | megabytes mb mib | gigabytes gb gib
unless | if
"""
_SAME = """
check verifi verify ensur ensure confirm
run execut execute
normalis normal normaliz
acknowledg ack
"""


def _opposites() -> dict[str, tuple[tuple[int, int], ...]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for pair, line in enumerate(_PAIRS.strip().splitlines()):
        for side, words in enumerate(line.split("|")):
            for word in words.split():
                found.setdefault(word, []).append((pair, side))
    return {word: tuple(sides) for word, sides in found.items()}


OPPOSITES: Mapping[str, tuple[tuple[int, int], ...]] = _opposites()
"""A word's pairs, by number, and the side of each that it is on."""
SYNONYMS: Mapping[str, str] = {
    word: line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()[1:]
}
"""A stem, and the stem that stands for all that mean the same."""
NUMBER_WORDS: Mapping[str, str] = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905
    if word != "one"
} | {"once": "1", "twice": "2"}
STOP = frozenset(
    """
    a all an and any are as at be been being but by can do does each every for had has have if in is it its may of on
    one or our own so such than that the their them then there these they this those to was were when which while who
    will with would you your der die das und ist ein eine des dem den
    """.split()  # noqa: SIM905
)
"""Words that carry nothing of a lesson."""
