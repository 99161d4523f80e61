"""What all messages share, and the errors that come instead of a reply."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Request(BaseModel):
    """What every request carries. ``deadline_ms`` is how long the caller will wait."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    deadline_ms: Annotated[int, Field(ge=1, le=600_000)] | None = None


class Reply(BaseModel):
    """Base of all replies. ``model_validate`` takes an object with attributes of the same names, too."""

    model_config = ConfigDict(extra="ignore", frozen=True, from_attributes=True)


class ErrorBody(Reply):
    """A named error: ``code`` for programs, ``message`` and ``suggestion`` for people."""

    code: str
    message: str
    suggestion: str = ""


class ErrorReply(Reply):
    """What comes instead of a reply when a request fails."""

    error: ErrorBody
