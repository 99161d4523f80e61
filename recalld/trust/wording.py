"""Why a reply abstains, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from recalld.trust.verdict import Judgement, Verdict

NOTHING_FOUND = "no memory was retrieved"
GAP = "nothing that was found is near enough to the question to answer it: probably a gap in the memory"
NOT_CALIBRATED = "nothing is calibrated yet: hits are ranked, not vouched for"

_WORDS = {
    Verdict.INVALID_METADATA: "the best match, {path}, cannot be judged: {reason}",
    Verdict.NOT_YET_KNOWN: "the best match, {path}, was not known then: {reason}",
    Verdict.AMBIGUOUS_SUPERSESSION: "the best match, {path}, may have been replaced: {reason}",
    Verdict.SUPERSEDED: "the best match, {path}, no longer holds: {reason}",
    Verdict.RETIRED: "the best match, {path}, no longer holds: {reason}",
    Verdict.EXPIRED: "the best match, {path}, no longer holds: {reason}",
    Verdict.NOT_YET_VALID: "the best match, {path}, does not hold yet: {reason}",
    Verdict.NOT_ENTAILED: "the best match, {path}, is on the subject, but does not answer the question",
}


def abstention(withheld: Iterable[tuple[str, Judgement, float | None]]) -> str:
    """Say why there is no answer, given what was withheld, best first: path, judgement and confidence.

    What is near enough to the question but does not hold explains it better than what is merely far from it.
    """
    found = list(withheld)
    near = [one for one in found if one[1].verdict is not Verdict.LOW_CONFIDENCE and (one[2] is None or one[2] >= 0.5)]
    if near:
        path, judgement, _ = near[0]
        return _WORDS[judgement.verdict].format(path=path, reason=judgement.reason)
    return GAP if found else NOTHING_FOUND


def summary(judgements: Iterable[Judgement]) -> str:
    """Count what was withheld beside an answer: ``withheld: 2 superseded, 1 expired``; empty for nothing."""
    counts = Counter(str(judgement.verdict).replace("_", " ") for judgement in judgements)
    return f"withheld: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}" if counts else ""
