"""What an agent reads before it works: all memory, or what applies.

For each task, the lines that a brief and a preflight show against the texts of the memory whole, in tokens of the
default embedder, on two public memories (``../shared/data``). The tasks are acts of the kind that each memory is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recalld.embed.factory import make_embedder
from recalld.ingest.kinds import GUIDING, kind_of
from recalld.ingest.parse import read
from recalld.lessons.extract import guided
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.match import Matcher
from recalld.settings import EmbedSettings, default_cache_dir
from tests.bench.figure import Figure, median, report

DATA = Path(__file__).parents[3] / "shared" / "data"
BAR = 0.97
BRIEF = 5
TASKS = {
    "mem-sddk": (
        Action(text="Add a required status check to the CI workflow so that a red run blocks the merge"),
        Action(tool="Bash", command="git commit --no-verify -m 'skip the hooks for now'"),
        Action(tool="Edit", path="agents/sddk-apply.md", text="Let the agent call the orchestrator's tools directly"),
        Action(text="Release the framework with a new version of the runtime and the adapters"),
        Action(tool="Bash", command="sddk init --force && git push origin main"),
        Action(tool="Write", path="docs/adr/ADR-0099.md", text="A new decision on the pack model"),
        Action(text="Move the knowledge vault out of the repository into a database"),
        Action(tool="Edit", path="scripts/install.sh", text="Install the plugin for every agent of the machine"),
    ),
    "mem-locallama": (
        Action(tool="Edit", path="src/index.ts", text="console.log('server started on stdio transport')"),
        Action(tool="Write", path="scripts/setup.sh", text="curl the model and unpack it, without set -euo pipefail"),
        Action(tool="Edit", path="src/routing.ts", text="Change the tool's parameters and the README's example of it"),
        Action(text="Write a PowerShell cmdlet with plural parameter names for the providers"),
        Action(tool="Bash", command="npm publish --access public"),
        Action(text="Make the route_task tool wait until the job has been done"),
        Action(tool="Edit", path="src/providers/openrouter.ts", text="Log the API key when a request fails"),
        Action(tool="Bash", command="git push --force origin main"),
    ),
}


def texts(root: Path) -> dict[str, str]:
    """Return the readable files of a memory by path."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.suffix in (".md", ".mdc", ".txt"):
            found[str(path.relative_to(root))] = path.read_text("utf-8", "replace")
    return found


def guardrails(memory: dict[str, str]) -> list[Guardrail]:
    """Return all that the memory says to check."""
    guides = [(path, text) for path, text in memory.items() if kind_of(path) in GUIDING]
    return [one for path, text in guides for one in guided(read(path, text.encode())).guardrails]


async def measure() -> list[Figure]:
    """Count the tokens of each task, and of all memory; none where the data is not there."""
    if not DATA.is_dir():
        return []
    embedder = await make_embedder(EmbedSettings(), default_cache_dir())
    figures = []
    for name, tasks in TASKS.items():
        memory = texts(DATA / name)
        rules = guardrails(memory)
        whole = sum(embedder.count_tokens(list(memory.values())))
        loaded = sum(embedder.count_tokens([text for path, text in memory.items() if kind_of(path) in GUIDING]))
        matcher = Matcher(rules)
        shown = [
            sum(embedder.count_tokens(lines(rules[:BRIEF]) + lines([f.guardrail for f in matcher.match(task)])))
            for task in tasks
        ]
        figures += _figures(name, shown, whole, loaded)
    return figures


def lines(rules: Sequence[Guardrail]) -> list[str]:
    """Return what is shown of guardrails."""
    return [f"- [{rule.id}] {rule.check}" for rule in rules]


def _figures(name: str, shown: Sequence[int], whole: int, loaded: int) -> list[Figure]:
    saved = 1 - median([float(count) for count in shown]) / whole
    return [
        Figure(f"{name}: tokens saved against all memory ({whole:,})", saved, "", f"{max(shown)} shown at most",
               f">= {BAR}", saved >= BAR),
        Figure(f"{name}: against its rules, skills and lessons ({loaded:,})", 1 - median(shown) / loaded, ""),
    ]  # fmt: skip


if __name__ == "__main__":
    report(measure)
