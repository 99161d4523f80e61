"""Converters and fetchers are plugins: found by entry points, and named where their extra is not installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from recalld.errors import ConfigError

CONVERTERS, FETCHERS = "recalld.converters", "recalld.fetchers"
"""Groups of entry points. A converter's is a :data:`recalld.put.converted.Converter`."""
_EXTRAS = {"pdf": "pdf", "html": "web", "http": "web"}


def plugin(group: str, name: str) -> Callable[..., Any]:
    """Return a plugin. Raises ConfigError where there is none, or what it needs is not installed."""
    found = next(iter(entry_points(group=group, name=name)), None)
    if found is None:
        raise ConfigError(f"there is no plugin {name} ({group})", suggestion="install recalld anew")
    try:
        made: Callable[..., Any] = found.load()
    except ImportError as error:
        extra = _EXTRAS.get(name, name)
        raise ConfigError(
            f"the plugin {name} cannot be loaded: {error}",
            suggestion=f"on the node that serves: pip install 'recalld[{extra}]'",
        ) from error
    return made
