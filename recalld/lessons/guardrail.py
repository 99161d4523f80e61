"""The nouns of procedural memory: what is to be checked, and what somebody is about to do."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MESSAGE = re.compile(r"(?<=\s)(?:-[a-z]*m|--message|--title|--body)[ =](?:'[^']*'|\"[^\"]*\")")


@dataclass(frozen=True, slots=True)
class Guardrail:
    """Something to check before an act: a lesson, or a section of a rule, in the file at ``path``.

    ``check`` is the line that is shown; ``scope`` are globs of the files that it is about, none for all; an act that
    has one of the words ``unless`` does already what is asked for; ``weight`` is
    what its source counts against others.
    """

    id: str
    title: str
    check: str
    text: str = ""
    tags: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    kind: str = "lesson"
    path: str = ""
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Action:
    """What an agent is about to do, as far as it is known: its tool, the file, the command, and words about it."""

    text: str = ""
    tool: str = ""
    path: str = ""
    command: str = ""

    @property
    def words(self) -> str:
        """All that it says of itself, without the tool's name and the message of a commit."""
        return "\n".join(part for part in (self.text, _MESSAGE.sub("", self.command), self.path) if part)
