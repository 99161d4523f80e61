"""Parts that can be left out: found by entry points, made from options of the settings."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from recalld.errors import ConfigError, RecalldError


def plugin(group: str, name: str, setting: str) -> Callable[..., Any]:
    """Return what makes the part ``name``, which ``setting`` names. Raises ConfigError where it cannot be loaded."""
    known = {point.name: point for point in entry_points(group=group)}
    if name not in known:
        raise ConfigError(f"{setting}: there is no {name}", suggestion=f"there are {', '.join(sorted(known))}")
    try:
        found: Callable[..., Any] = known[name].load()
    except ImportError as error:
        raise ConfigError(f"the plugin {name} cannot be loaded: {error}") from error
    return found


def made(make: Callable[..., Any], setting: str, documented: str, *arguments: Any) -> Any:
    """Make a part of its options. Raises ConfigError for options that it cannot take, and as the part does."""
    try:
        return make(*arguments)
    except RecalldError:
        raise
    except (TypeError, ValueError, KeyError) as error:
        raise ConfigError(f"{setting}: {error}", suggestion=f"{documented} lists them") from error
