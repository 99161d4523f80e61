"""What a document may be called, and which documents a written target means.

Authors name other documents by path, file name, id, number, alias or title, in wiki links or markdown links, with or
without ``.md``. A target means the documents that match it in the strongest of these ways; of several the author
meant one and did not say which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any, Protocol

_ID_KEYS = ("id", "uid", "slug", "adr", "pep", "rfc", "number")
_SUFFIX = re.compile(r"\.(?:md|markdown|mdx|rst|txt|adoc|org)$", re.IGNORECASE)
_WIKI = re.compile(r"\[\[([^\[\]|]+)(?:\|[^\[\]]*)?\]\]")
_LINK = re.compile(r"\[([^\[\]]*)\]\(\s*<?([^()<>\s]+)>?\s*\)")
_REMARK = re.compile(r"\s*[(\u2014\u00a7]\s*(.*?)\)?\s*$")
_ANCHOR = re.compile(r"#.*$")
_NUMBERED = re.compile(r"(?:([a-z]{2,12})[\s_#-]*)?#?0*(\d{1,6})(?![\d.])(?:$|[\s_:.,-]|\b)")
_PART = re.compile(
    r"\b(?:in part|part(?:s|ly|ial(?:ly)?)?|only|except|excluding|sections?|rules?|clauses?|items?|points?|"
    r"paragraphs?|chapters?|en parte|parcial(?:mente)?)\b|\u00a7",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]{3,}")
_DATE = re.compile(r"[\d\s./:-]*")
_KNOWN_WORDS = 0.75
"""A remark with this share of its words in the target's title or file name repeats the title; any other limits it."""


class Named(Protocol):
    """What a document is called by."""

    @property
    def path(self) -> str:
        """Its repo-relative path."""
        ...

    @property
    def title(self) -> str:
        """Its title."""
        ...

    @property
    def ids(self) -> frozenset[str]:
        """Its declared ids and aliases, folded."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A target as written, taken apart: the name itself, and what stands beside it in brackets or after a ``#``."""

    name: str
    remark: str

    @property
    def stem(self) -> str:
        """Return the last part of the name without a file's suffix, folded."""
        return fold(stem_of(self.name))

    @property
    def keys(self) -> frozenset[str]:
        """Return every key under which a document that this target means can be found."""
        return frozenset(filter(None, (self.stem, fold(self.name), *numbers(fold(self.name)), *numbers(self.stem))))


def read_target(text: str) -> Target:
    """Take a target apart: ``[[0003-jobs|Jobs]]``, ``[ADR 4](0004-x.md)``, ``ADR 7 (rule 1)``, ``old.md#retry``."""
    text = text.strip().strip("\"'").strip().rstrip(".,;")
    for pattern, group in ((_WIKI, 1), (_LINK, 2)):
        if match := pattern.search(text):
            name, rest = match.group(group), f"{text[: match.start()]} {text[match.end() :]}".strip()
            break
    else:
        match = _REMARK.search(text)
        name, rest = (text[: match.start()], match.group(0)) if match and match.start() else (text, "")
        name = name.strip().strip("[]").strip()
    anchor = _ANCHOR.search(name) if not name.startswith("#") else None
    section = f"section {anchor.group()[1:]}" if anchor else ""
    name = name[: anchor.start()] if anchor else name
    remark = " ".join(filter(None, (section, rest.strip(" ()\u2014-,;:"))))
    return Target(name.strip().removeprefix("./"), remark)


def fold(text: str) -> str:
    """Return a name as names are compared."""
    return " ".join(text.casefold().split())


def stem_of(path: str) -> str:
    """Return the last part of a path or name without a document's suffix."""
    return _SUFFIX.sub("", path.rstrip("/").rsplit("/", 1)[-1].strip())


def numbers(name: str) -> Iterator[str]:
    """Yield the number that a folded name begins with, bare and with its word: ``#387`` and ``pep#387``."""
    if match := _NUMBERED.match(name):
        word, number = match.groups()
        yield f"#{number}"
        if word:
            yield f"{word}#{number}"


def ids_of(metadata: Mapping[str, Any], aliases: Iterable[str]) -> frozenset[str]:
    """Return the ids and aliases that a document declares, folded."""
    declared = (metadata.get(key) for key in _ID_KEYS)
    texts = (str(value) for value in declared if isinstance(value, str | int) and not isinstance(value, bool))
    return frozenset(filter(None, map(fold, (*texts, *aliases))))


def keys_of(document: Named) -> frozenset[str]:
    """Return every key under which a document can be found."""
    stem = fold(stem_of(document.path))
    numbered = (key for name in (stem, *document.ids) for key in numbers(name))
    return frozenset(filter(None, (stem, fold(document.title), *document.ids, *numbered)))


def means(target: Target, document: Named, folder: str) -> int:
    """Tell how strongly a target means a document, 0 for not at all.

    ``folder`` is where the target was written. In falling order: path, id or alias, file name, number with its word,
    number in the same folder, number, title.
    """
    path, name = fold(_SUFFIX.sub("", document.path)), fold(_SUFFIX.sub("", target.name))
    stem = path.rsplit("/", 1)[-1]
    if "/" in name:
        relative = normpath(f"{fold(folder)}/{name}" if folder else name).lstrip("/")
        if path in (name.lstrip("/"), relative):
            return 7
        if path.endswith(f"/{name.lstrip('./')}"):
            return 6
    if fold(target.name) in document.ids or name in document.ids:
        return 5
    if stem == target.stem:
        return 4
    return _by_number(target, document, stem, folder) or int(fold(target.name) == fold(document.title))


def _by_number(target: Target, document: Named, stem: str, folder: str) -> int:
    wanted, own = list(numbers(fold(target.name))), {key for name in (stem, *document.ids) for key in numbers(name)}
    if not wanted or wanted[0] not in own:
        return 0
    worded = any(key.endswith(wanted[0]) and key != wanted[0] for key in own)
    if len(wanted) > 1 and worded and wanted[1] not in own:
        return 0
    same_folder = str(PurePosixPath(document.path).parent) == (folder or ".")
    return 3 if same_folder else 2


def is_partial(target: Target, document: Named) -> bool:
    """Tell whether a target's remark limits it to a part of the document: ``(rule 1 only)``, ``#retry-policy``.

    A remark that repeats the document's title, or is a date, does not.
    """
    if not target.remark or _DATE.fullmatch(target.remark):
        return False
    if _PART.search(target.remark):
        return True
    words = [word.casefold() for word in _WORD.findall(target.remark)]
    known = f"{document.title} {stem_of(document.path)}".casefold()
    return bool(words) and sum(word in known for word in words) < _KNOWN_WORDS * len(words)
