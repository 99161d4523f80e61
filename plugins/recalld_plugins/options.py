"""Options of plugins, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recalld.errors import ConfigError


def check_options(name: str, options: Mapping[str, Any], known: Sequence[str], setting: str = "embed.options") -> None:
    """Raise ConfigError for an option that the plugin does not know."""
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ConfigError(
            f"{setting}.{unknown[0]} is no option of {name}", suggestion=f"there are {', '.join(sorted(known))}"
        )
