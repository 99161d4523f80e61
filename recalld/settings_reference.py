"""Writes ``config/recalld.toml`` from the settings' declarations: ``python -m recalld.settings_reference > FILE``."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from recalld.settings import RepoSettings, Settings

HEADER = """\
# recalld's settings: every one, with its default and meaning.
# Uncomment a line to change it. Stronger than this file: systemd credentials, then the environment
# (RECALLD_STORE__DSN=...), then flags. `recalld config show` prints what is in force and where it comes from.
# Written by `make config` from recalld/settings.py.
"""


def reference() -> str:
    """Return the settings file: every section and key with description and default, all commented out."""
    parts = [HEADER]
    for name, section in Settings.model_fields.items():
        if name != "repos":
            assert isinstance(section.annotation, type)
            parts.append(f"[{name}]\n" + "\n".join(_lines(section.annotation)))
    parts.append(
        "# One table for each memory repo that this node watches.\n# [[repos]]\n" + "\n".join(_lines(RepoSettings))
    )
    return "\n\n".join(parts) + "\n"


def _lines(section: type[BaseModel]) -> Iterator[str]:
    for line in textwrap.wrap((section.__doc__ or "").split("\n")[0], 100):
        yield f"# {line}"
    for name, field in section.model_fields.items():
        yield ""
        for line in textwrap.wrap(field.description or "", 100):
            yield f"# {line}"
        yield f"# {name} = {_default(field)}"


def _default(field: FieldInfo) -> str:
    return "" if field.default in (None, PydanticUndefined) and field.default_factory is not dict else _toml(field)


def _toml(field: FieldInfo) -> str:
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, SecretStr | Path):
        raise TypeError("a secret or a path has no default that is the same everywhere")
    return f'"{value}"'


if __name__ == "__main__":
    sys.stdout.write(reference())
