"""The figures of retrieval and trust on public question sets: ``python -m tests.bench.results``.

Writes ``docs/results.json`` (every score with its interval and count, by half, with what each run was made of) and
``docs/results.md`` (the same for people). Settings were chosen on the half ``tune``; ``report`` had no say.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from recalld.configuration import load
from recalld.evaluate.case import CONTEXT, Case
from recalld.evaluate.conditions import CROSS, LADDER
from recalld.evaluate.corpus import read_corpus
from recalld.evaluate.importers import Document, Imported, import_from, write
from recalld.evaluate.loss import Loss
from recalld.evaluate.manifest import Setup
from recalld.evaluate.metrics.sampling import Mean
from recalld.evaluate.observation import Stage
from recalld.evaluate.run import Plan, Run, run
from recalld.evaluate.scores import Rung, score
from recalld.evaluate.tasks import Gold, Task, read_tasks
from recalld.evaluate.workbench import workbench
from recalld.settings import default_cache_dir
from tests.bench.corpora import DATA, docs_qa

DOCS = Path(__file__).parents[2] / "docs"
SEED = 0
K, HITS = 5, 10
CONDITIONS = [name for name in LADDER if name != CROSS]
"""No weights of a cross-encoder can be had without a download."""
RANKED = (f"hit@{K}", f"recall@{K}", "MRR", "nDCG@10", f"span recall@{K}", f"span recall in {CONTEXT} tokens")
ANSWERED = (
    "right", "false abstain", "false confident", "stale served", "successor first", "forbidden served",
    "required recalled",
)  # fmt: skip


HEAD = f"""# Results on public question sets

Written by `make results`; do not edit. All scores with intervals, and what each run was made of, are in
[results.json](results.json). Settings were chosen on the half `tune` of each set; `report` had no say. Documents are
looked for among the first {K} (MRR: all) of {HITS} passages admitted, before any abstention; *right*, *false abstain*
and *false confident* are of the answer. In brackets the 95 % interval.
"""


def _peps(*, superseded: bool) -> Imported:
    whole = import_from("peps", DATA / "peps")
    tasks = [task for task in whole.tasks if (task.category == "superseded") is superseded]
    return Imported(whole.documents, tasks, whole.notes if superseded else [])


def _docs_qa() -> Imported:
    corpus = docs_qa()
    documents = {path: Document(content.decode()) for path, content in corpus.documents.items()}
    tasks = [
        Task(id=one.id, query=one.text, gold=tuple(Gold(path=path) for path in sorted(one.gold)))
        for one in corpus.questions
    ]
    return Imported(documents, tasks)


SETS: Mapping[str, Callable[[], Imported]] = {
    "peps": lambda: _peps(superseded=False),
    "peps, titles of superseded proposals": lambda: _peps(superseded=True),
    "docs-qa": _docs_qa,
    "chunking-eval": lambda: import_from("spans", DATA / "chunking-eval"),
    "statebench": lambda: import_from("statebench", next((DATA / "statebench").glob("*.jsonl"))),
}


async def main() -> int:
    """Run every set, and write both files."""
    if not (DATA / "peps").is_dir():
        sys.stderr.write(f"the question sets are not in {DATA}\n")
        return 1
    settings, _ = load(None, {})
    setup = Setup(settings.embed, settings.ingest, settings.recall, settings.trust)
    at = datetime.now(UTC)
    found: dict[str, Any] = {}
    async with workbench(default_cache_dir(), lambda *_: None) as bench:
        for name, read in SETS.items():
            sys.stderr.write(f"{name} ...\n")
            imported = read()
            with TemporaryDirectory() as folder:
                write(imported, Path(folder) / "set")
                tasks = read_tasks(Path(folder) / "set" / "tasks.jsonl")
                corpus = await read_corpus(Path(folder) / "set" / "documents")
                done = await run(bench, setup, corpus, tasks, Plan(CONDITIONS, K, HITS, SEED), at)
            found[name] = plain(done, imported.notes)
    (DOCS / "results.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    (DOCS / "results.md").write_text(page(found), "utf-8")
    return 0


def plain(done: Run, notes: Sequence[str]) -> dict[str, Any]:
    """Return what is kept of a run: its manifest, the scores by half, categories, and where tasks were lost."""
    return {
        "notes": list(notes),
        "manifest": {key: value for key, value in done.manifest.items() if key != "calibration"},
        "halves": {half: _half(done, half) for half in ("all", "tune", "report")},
        "categories": {rung.name: _rounded(rung.by_category) for rung in done.rungs},
        "unserved": {
            name: _answered(rung) | {"categories": _rounded(rung.by_category)} for name, rung in done.unserved.items()
        },
        "reasons": dict(
            sorted({(c.task.category, c.task.unserved) for c in done.cases[CONDITIONS[0]] if c.task.unserved})
        ),
        "losses": {name: _losses(done, name) for name in done.cases},
    }


def _half(done: Run, half: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cases in done.cases.items():
        chosen = [case for case in cases if not case.task.unserved and half in ("all", case.task.half)]
        found[name] = _scores(score(name, chosen, SEED))
    return found


def _scores(rung: Rung) -> dict[str, Any]:
    ranked = {name: rung.ranked[Stage.ADMITTED][name] for name in RANKED if name in rung.ranked[Stage.ADMITTED]}
    return {
        "tasks": rung.tasks,
        **_rounded(ranked),
        **_answered(rung),
        "auroc": rung.confidence.auroc,
        "ms": round(rung.took_ms, 1),
    }


def _answered(rung: Rung) -> dict[str, Any]:
    return _rounded({name: rung.answered[name] for name in ANSWERED if name in rung.answered})


def _rounded(means: Mapping[str, Mean]) -> dict[str, Any]:
    return {name: {key: round(value, 4) for key, value in asdict(mean).items()} for name, mean in means.items()}


def _losses(done: Run, name: str) -> dict[str, int]:
    lost = [done.losses[name][case.task.id] for case in _served(done.cases[name])]
    return {str(loss): lost.count(loss) for loss in Loss if loss in lost}


def _served(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if not case.task.unserved]


def page(found: Mapping[str, Any]) -> str:
    """Return the figures as a page."""
    lines = [HEAD]
    for name, one in found.items():
        manifest = one["manifest"]
        documents, chunks = manifest["index"]["documents"], manifest["index"]["chunks"]
        lines += [f"## {name}", "", f"{manifest['tasks']['count']} tasks, {documents} documents, {chunks} chunks."]
        lines += [*(f"{note[0].upper()}{note[1:]}." for note in one["notes"]), ""]
        lines += _table(one)
        if any(one["categories"]["+trust"]) and len(one["categories"]["+trust"]) > 1:
            lines += ["", *_categories(one)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _table(one: Mapping[str, Any]) -> list[str]:
    names = [key for key in (*RANKED, *ANSWERED) if any(key in row for row in one["halves"]["all"].values())]
    head = ["condition", "half", "tasks", *names]
    rows = [
        [name, half, str(row["tasks"]), *(_cell(row.get(key)) for key in names)]
        for name in CONDITIONS
        for half in ("tune", "report", "all")
        if (row := one["halves"][half].get(name)) and (half == "all" or name in ("hybrid+late-interaction", "+trust"))
    ]
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _categories(one: Mapping[str, Any]) -> list[str]:
    shown = ("hybrid+late-interaction", "+trust", "oracle")
    apart = {name: one["unserved"].get(name, {}).get("categories", {}) for name in shown}
    head = ["right answers by category", "n", *shown, "served"]
    rows = [_category(name, [one["categories"][rung] for rung in shown], "yes") for name in one["categories"]["+trust"]]
    rows += [_category(name, list(apart.values()), f"no: {one['reasons'][name]}") for name in apart["+trust"]]
    return [_row(head), _row(["---"] * len(head)), *map(_row, rows)]


def _category(name: str, means: Sequence[Mapping[str, Any]], served: str) -> list[str]:
    return [name, str(means[0][name]["count"]), *(_cell(mean[name]) for mean in means), served]


def _cell(mean: Mapping[str, Any] | None) -> str:
    return "" if mean is None else f"{mean['value']:.3f} [{mean['low']:.2f}, {mean['high']:.2f}]"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(anyio.run(main))
