"""Where a task was lost: the first step after which its answer could not come out right any more."""

from __future__ import annotations

from enum import StrEnum

from recalld.evaluate.case import Case
from recalld.evaluate.catalogue import Catalogue
from recalld.evaluate.observation import Stage
from recalld.trust.verdict import Verdict


class Loss(StrEnum):
    """What went wrong, in the order in which a search goes."""

    NONE = "not lost"
    NOT_INDEXED = "not indexed"
    NOT_RETRIEVED = "not retrieved"
    FUSION = "lost in fusion"
    RERANK = "lost in rerank"
    BUDGET = "dropped by budget"
    INVALID = "judged invalid"
    ABSTAINED = "abstained"
    WRONG = "answered wrongly"


def lost_at(case: Case, catalogue: Catalogue, k: int) -> Loss:
    """Tell where a case was lost, by the documents that answer it.

    What stands too low to be served is laid to the last stage that ordered it: reranking, else fusion, else retrieval.
    """
    task, documents, gold = case.task, case.documents, case.task.paths
    if case.right:
        return Loss.NONE
    if not task.answerable:
        return Loss.WRONG
    if not gold:
        return Loss.ABSTAINED if case.observation.abstained else Loss.WRONG
    if not gold & catalogue.by_path.keys():
        return Loss.NOT_INDEXED
    if not gold & set(documents[Stage.RETRIEVED]):
        return Loss.NOT_RETRIEVED
    if not gold & set(documents[Stage.RERANKED]):
        return Loss.FUSION
    if not gold & set(documents[Stage.ADMITTED]):
        return Loss.BUDGET if gold & set(documents[Stage.RERANKED][:k]) else _ordered_low(case)
    if not gold & set(documents[Stage.ANSWERED]):
        return _withheld(case, catalogue)
    return Loss.WRONG if gold & set(documents[Stage.ANSWERED][:k]) else _ordered_low(case)


def _ordered_low(case: Case) -> Loss:
    stages = case.observation.stages
    if list(stages[Stage.RERANKED]) != list(stages[Stage.FUSED]):
        return Loss.RERANK
    return Loss.FUSION if list(stages[Stage.FUSED]) != list(stages[Stage.RETRIEVED]) else Loss.NOT_RETRIEVED


def _withheld(case: Case, catalogue: Catalogue) -> Loss:
    verdicts = {
        verdict
        for chunk, verdict in case.observation.withheld.items()
        if chunk in catalogue.chunks and catalogue.chunks[chunk].path in case.task.paths
    }
    return Loss.INVALID if verdicts - {Verdict.LOW_CONFIDENCE, Verdict.NOT_ENTAILED} else Loss.ABSTAINED
