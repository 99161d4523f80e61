"""Lessons before risky acts: which fire when they should, which when they should not, and how long that takes.

Three sets, each of another made-up company, each written by somebody who did not know how matching works: 40 to 48
lessons, 64 to 96 risky acts, 100 to 160 benign ones. Near half of the benign ones are ``near``: they share a lesson's
subject and words, only look, or do what it asks for. Every setting was chosen on ``TUNED``; ``REPORTED`` had no say.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from recalld.embed.factory import make_embedder
from recalld.embed.protocol import Embedder
from recalld.ingest.parse import read
from recalld.lessons.extract import guided
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.likes import Likeness, Vectors
from recalld.lessons.match import Gate, Matcher
from recalld.settings import EmbedSettings, default_cache_dir
from tests.bench.figure import Figure, median, report

DATA = Path(__file__).parents[1] / "data" / "preflight"
TUNED: tuple[str, ...] = ("harbours", "bikes")
REPORTED: tuple[str, ...] = ("library",)
RECALL_BAR, FALSE_BAR = 0.9, 0.03
BLEND = 4.0
SPEEDS = ((500, 0.5), (5_000, 2.0))


def guardrails(name: str) -> list[Guardrail]:
    """Return the lessons of a set."""
    found = []
    for path in sorted((DATA / name / "lessons").glob("*.md")):
        reading = read(f"lessons/{path.name}", path.read_bytes())
        found += guided(reading).guardrails
    return found


def acts(name: str, kind: str) -> list[Mapping[str, Any]]:
    """Return the risky or benign acts of a set."""
    return [json.loads(line) for line in (DATA / name / f"{kind}.jsonl").read_text("utf-8").splitlines()]


def action_of(row: Mapping[str, Any]) -> Action:
    """Return what an act of the set is."""
    given = {key: value or "" for key, value in row["action"].items()}
    return Action(given["text"], given["tool"], given["path"], given["command"])


def recalled(matcher: Matcher, name: str) -> list[bool]:
    """Tell of each risky act of a set whether its lesson fires."""
    return [row["lesson"] in {one.guardrail.id for one in matcher.match(action_of(row))} for row in acts(name, "risky")]


def false_fires(matcher: Matcher, name: str) -> list[bool]:
    """Tell of each benign act of a set whether anything fires."""
    return [bool(matcher.match(action_of(row))) for row in acts(name, "benign")]


async def measure() -> list[Figure]:
    """Match all acts, and time them among many lessons."""
    figures: list[Figure] = []
    for name in (*TUNED, *REPORTED):
        matcher = Matcher(guardrails(name))
        figures += _figures(name, name, recalled(matcher, name), false_fires(matcher, name), barred=name in REPORTED)
    figures += await _blended()
    return figures + [_speed(count, bar) for count, bar in SPEEDS]


async def _blended() -> list[Figure]:
    """Match all acts once more with sentence embeddings beside words."""
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())

    async def loaded() -> Embedder:
        return embedder

    likeness, gate = Likeness(loaded, lambda: True), Gate(blend=BLEND)
    figures = []
    for name in (*TUNED, *REPORTED):
        matcher = Matcher(guardrails(name), gate)
        vectors = await likeness.of_guardrails(matcher.guardrails)

        async def fired(row: Mapping[str, Any], matcher: Matcher = matcher, vectors: Vectors = vectors) -> list[str]:
            act = action_of(row)
            vector = await likeness.of_act(act)
            found = matcher.match(act, vectors @ vector if vector is not None else None)
            return [one.guardrail.id for one in found]

        good = [row["lesson"] in await fired(row) for row in acts(name, "risky")]
        bad = [bool(await fired(row)) for row in acts(name, "benign")]
        figures += _figures(f"{name}, with embeddings", name, good, bad, barred=False)
    return figures


def _figures(what: str, name: str, good: Sequence[bool], bad: Sequence[bool], *, barred: bool) -> list[Figure]:
    share, false = sum(good) / len(good), sum(bad) / len(bad)
    near = [fired for fired, row in zip(bad, acts(name, "benign"), strict=True) if row["near"]]
    return [
        Figure(f"risky acts whose lesson fires, {what}", share, "", f"{sum(good)} of {len(good)}",
               f">= {RECALL_BAR}" if barred else "", share >= RECALL_BAR if barred else None),
        Figure(f"benign acts on which anything fires, {what}", false, "",
               f"{sum(bad)} of {len(bad)}; of those near {sum(near)} of {len(near)}",
               f"<= {FALSE_BAR}" if barred else "", false <= FALSE_BAR if barred else None),
    ]  # fmt: skip


def _speed(count: int, bar: float) -> Figure:
    matcher = Matcher(many(guardrails(TUNED[0]), count))
    actions = [action_of(row) for kind in ("risky", "benign") for row in acts(TUNED[0], kind)]
    times = []
    for action in actions * 5:
        begun = time.perf_counter()
        matcher.match(action)
        times.append((time.perf_counter() - begun) * 1e3)
    took = median(times)
    return Figure(f"matching an act with {count:,} lessons, p50", took, "ms", "", f"<= {bar:g}", took <= bar)


def many(known: Sequence[Guardrail], count: int) -> list[Guardrail]:
    """Return so many lessons: those of the set, and others that each mix the words of two of them."""
    made = list(known)
    while len(made) < count:
        one, other = known[len(made) % len(known)], known[(len(made) * 7 + len(made) // len(known)) % len(known)]
        text = " ".join([*one.text.split()[::2], *other.text.split()[1::2], f"variant{len(made)}"])
        made.append(Guardrail(f"lessons/{len(made)}.md", f"{one.title} {len(made)}", other.check, text, one.tags))
    return made


if __name__ == "__main__":
    report(measure)
