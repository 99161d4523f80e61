"""What sections of the settings have in common, and values that may come as one string."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Section(BaseModel):
    """Base of all sections: a typo is an error, and nothing changes after start."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True)


def words(value: Any) -> Any:
    """Read a list from the one string that an environment variable or a flag is: JSON, or words between commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    return tuple(word.strip() for word in value.split(",") if word.strip())


def table(value: Any) -> Any:
    """Read a table from the one string that an environment variable or a flag is: JSON."""
    return json.loads(value) if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(words)]
