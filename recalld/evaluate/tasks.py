"""Tasks: questions with what is known of their answers, one JSON object a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)  # fmt: skip
from pydantic_core import ErrorDetails

from recalld.errors import NotFoundError, UsageError

_NAMED = 5
"""Faults that an error names."""
_HINT = "`recall evaluate schema` prints what a task may have"

Half = Literal["tune", "report"]
"""Settings are chosen on the one half and judged on the other."""


def _normal(value: Any) -> Any:
    """``./notes//a.md`` is ``notes/a.md``."""
    return PurePosixPath(value).as_posix() if isinstance(value, str) and value else value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
DocumentPath = Annotated[str, Field(min_length=1), BeforeValidator(_normal)]


class Gold(BaseModel):
    """Where the answer stands: a document, and in it the lines (1-based, inclusive) or characters that hold it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: DocumentPath
    lines: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] | None = None
    span: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)]] | None = None
    """First character of the answer in the document's text, and the one after its last."""

    @model_validator(mode="after")
    def _in_order(self) -> Gold:
        if self.lines and self.lines[0] > self.lines[1]:
            raise ValueError("lines end before they begin")
        if self.span and self.span[0] >= self.span[1]:
            raise ValueError("the span ends before it begins")
        return self


def _gold(value: Any) -> Any:
    """A path alone means the whole document."""
    return {"path": value} if isinstance(value, str) else value


def _day(value: Any) -> Any:
    """A day or a time without zone is meant in UTC."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return value
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


Moment = Annotated[AwareDatetime, BeforeValidator(_day)]


class Task(BaseModel):
    """A question and what is known of its answer. Paths are those of the documents in the corpus."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Text
    query: Text
    answerable: bool = True
    """False where the memory cannot know. A question to which it knows the answer "no" is answerable."""
    gold: tuple[Annotated[Gold, BeforeValidator(_gold)], ...] = ()
    """Any of these answers it; the valid ones where some were superseded."""
    stale: tuple[DocumentPath, ...] = ()
    """Documents that answered it once and must not be served as valid."""
    required: tuple[str, ...] = ()
    """Texts that the answer's sources must hold, letter case apart."""
    forbidden: tuple[str, ...] = ()
    """Texts that no source of the answer may hold, letter case apart."""
    as_of: Moment | None = None
    """When it is asked; None: when it is run. Give it wherever the right answer changes with time."""
    known_as_of: Moment | None = None
    scope: str | None = None
    """A glob over paths that the search is bound to."""
    category: str = ""
    unserved: str = ""
    """Why a memory of documents is not expected to serve it; such tasks are run and counted apart."""
    split: Half | None = None

    @property
    def half(self) -> Half:
        """Return the split, by a fixed hash of the id where none is given, so that no choice can creep in."""
        if self.split is not None:
            return self.split
        return "tune" if hashlib.sha256(self.id.encode()).digest()[0] % 2 == 0 else "report"

    @property
    def paths(self) -> frozenset[str]:
        """Return the documents that answer it."""
        return frozenset(gold.path for gold in self.gold)


def read_tasks(path: Path) -> list[Task]:
    """Read a task file. Raises UsageError that names the lines that are no tasks, and ids that occur twice."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(
            f"there is no {path}", suggestion="`recall evaluate propose` writes tasks with you"
        ) from None
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", suggestion="name a file of tasks") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8, from byte {error.start} on", suggestion="save it as UTF-8") from error
    tasks: list[Task] = []
    faults: list[str] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            task = Task.model_validate_json(line)
        except ValidationError as error:
            faults.append(f"line {number}: {worded(error)}")
            continue
        if task.id in seen:
            faults.append(f"line {number}: the id {task.id} is that of line {seen[task.id]}")
        seen.setdefault(task.id, number)
        tasks.append(task)
    if faults:
        more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
        raise UsageError(f"{path}: {'; '.join(faults[:_NAMED])}{more}", suggestion=_HINT)
    if not tasks:
        raise UsageError(f"{path} has no tasks", suggestion=_HINT)
    return tasks


def write_tasks(path: Path, tasks: Iterable[Task]) -> None:
    """Write a task file; what a task does not say is left out."""
    path.write_text("".join(f"{task.model_dump_json(exclude_defaults=True)}\n" for task in tasks), "utf-8")


def digest(tasks: Sequence[Task]) -> str:
    """Return the sha256 of tasks, in any order."""
    lines = sorted(task.model_dump_json(exclude_defaults=True) for task in tasks)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def schema() -> dict[str, Any]:
    """Return the JSON schema of one task."""
    plain = Task.model_json_schema()
    plain["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    plain["properties"]["gold"]["items"] = {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Gold"}]}
    plain["properties"]["as_of"]["description"] = "RFC 3339 time, or a day; without a zone it is UTC"
    return plain


def worded(error: ValidationError) -> str:
    """Say what is wrong with a task in words, the first two faults of it."""
    return "; ".join(_fault(fault) for fault in error.errors()[:2])


def _fault(fault: ErrorDetails) -> str:
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else json.dumps(fault["msg"])[1:-1]
