"""From the settings to the optional judges of plugins: another reranker, and what tells whether a passage answers."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from recalld.errors import ConfigError, RecalldError
from recalld.recall.entailment import Entailment, Gate
from recalld.recall.rerank import Reranker, Texts
from recalld.settings import RecallSettings, TrustSettings

RERANKERS, ENTAILMENT = "recalld.rerankers", "recalld.entailment"
"""Groups of entry points. A reranker's is called with its options, the cache directory and a reader of texts; an
entailment's with its options."""
BUILT_IN = "maxsim"


def make_reranker(settings: RecallSettings, cache_dir: Path, texts: Texts) -> Reranker | None:
    """Return the reranker that the settings name, None for the one built in. Blocking.

    Raises ConfigError for an unknown name or bad options, DependencyError when its model cannot be loaded.
    """
    if settings.reranker == BUILT_IN:
        return None
    make = _plugin(RERANKERS, settings.reranker, "recall.reranker")
    reranker: Reranker = _made(make, "recall.reranker_options", settings.reranker_options, cache_dir, texts)
    return reranker


def make_gate(settings: TrustSettings) -> Gate | None:
    """Return what looks at answers once more, None where the settings name nothing. Blocking; raises as above."""
    if not settings.entailment:
        return None
    make = _plugin(ENTAILMENT, settings.entailment, "trust.entailment")
    judge: Entailment = _made(make, "trust.entailment_options", settings.entailment_options)
    return Gate(judge, settings.entailment_threshold, settings.entailment_hits, settings.entailment_timeout_s)


def _plugin(group: str, name: str, setting: str) -> Callable[..., Any]:
    known = {point.name: point for point in entry_points(group=group)}
    if name not in known:
        raise ConfigError(f"{setting}: there is no {name}", suggestion=f"there are {', '.join(sorted(known))}")
    try:
        made: Callable[..., Any] = known[name].load()
    except ImportError as error:
        raise ConfigError(f"the plugin {name} cannot be loaded: {error}") from error
    return made


def _made(make: Callable[..., Any], setting: str, *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except RecalldError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise ConfigError(f"{setting}: {error}", suggestion="docs/judges.md lists them") from error
