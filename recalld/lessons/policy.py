"""Where a repo's lessons go, and under which names."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_NO_WORD = re.compile(r"[\W_]+")
_LONGEST = 60
ARCHIVE = "archive"
_LESSONS = "lessons"


@dataclass(frozen=True, slots=True)
class LearnPolicy:
    """What a repo says of learning: the folder of new lessons, and whether agents' lessons wait to be accepted."""

    folder: str = _LESSONS
    proposed: bool = False

    def place(self, title: str, number: int = 1) -> str:
        """Return the path of a new lesson; ``number`` tells lessons apart whose titles give the same name."""
        suffix = f"-{number}" if number > 1 else ""
        return f"{self.folder}/{slug(title)}{suffix}.md"

    def archived(self, run: str, path: str) -> str:
        """Return where a run puts a lesson away: below a folder ``lessons``, where nothing is remembered."""
        parts = self.folder.casefold().split("/")
        root = self.folder if _LESSONS in parts else _LESSONS
        return f"{root}/{ARCHIVE}/{run}/{path.removeprefix(f'{self.folder}/')}"


def slug(title: str) -> str:
    """Return a title as a file's name: its letters and digits of any script, in small letters."""
    composed = unicodedata.normalize("NFC", title).casefold()
    words = _NO_WORD.sub("-", composed).strip("-")
    return words[:_LONGEST].rstrip("-") or "lesson"
