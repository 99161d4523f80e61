"""What is doubtful about tasks, before anything is measured with them: a wrong question gives a wrong figure.

Errors make a task impossible or its score meaningless; warnings are for a person to look at. Pure, by words alone: what
judges the questions is not what they are asked of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from recalld.errors import UsageError
from recalld.evaluate.corpus import Corpus
from recalld.evaluate.tasks import Gold, Task
from recalld.ingest.parse import Reading, read
from recalld.model import Severity
from recalld.store.filters import glob_to_regex
from recalld.trust.compare import content_words, shared_matter

LEAK = 0.9
"""Share of the content words of question and title, together, that both must have for the title to give the answer."""
LEAST_WORDS = 4
"""A question of fewer content words is found in some document by chance."""

_NOW = re.compile(
    r"\b(now|today|current(ly)?|at present|at the moment|these days|nowadays|latest|newest|recent(ly)?|still|yet|"
    r"yesterday|tomorrow|(this|last|next) (week|month|quarter|year|sprint|release))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something about one task, with what to do about it."""

    task: str
    code: str
    severity: Severity
    message: str
    hint: str


@dataclass(frozen=True)
class _Known:
    """The documents, each read once, and all the tasks."""

    corpus: Corpus
    tasks: Sequence[Task]
    _readings: dict[str, Reading] = field(default_factory=dict)

    def reading(self, path: str) -> Reading:
        if path not in self._readings:
            self._readings[path] = read(path, self.corpus.files[path][0])
        return self._readings[path]

    def gold(self, task: Task) -> list[Gold]:
        """Return the gold that is there."""
        return [gold for gold in task.gold if gold.path in self.corpus.files]

    @cached_property
    def words(self) -> Mapping[str, frozenset[str]]:
        """The content words of each document."""
        return {path: frozenset(content_words(self.corpus.text(path))) for path in self.corpus.files}

    @cached_property
    def asked(self) -> Mapping[str, list[Task]]:
        """The tasks that ask the same: letter case and space apart, of one scope and time."""
        found: dict[str, list[Task]] = {}
        for task in self.tasks:
            found.setdefault(_question(task), []).append(task)
        return found


def doubts(tasks: Sequence[Task], corpus: Corpus) -> list[Doubt]:
    """Return what is doubtful, errors first, then in the order of the tasks."""
    known = _Known(corpus, tasks)
    found = [doubt for task in tasks for rule in _RULES for doubt in rule(task, known)]
    return sorted(found, key=lambda doubt: doubt.severity is not Severity.ERROR)


def _without_gold(task: Task, known: _Known) -> Iterator[Doubt]:
    if task.answerable and not (task.gold or task.required or task.forbidden):
        yield _error(
            task, "no-gold", "nothing tells a right answer", "name its gold, or set answerable to false if it has none"
        )
    if not task.answerable and (task.gold or task.required):
        yield _error(
            task,
            "evidence-against",
            "it has evidence and is marked as not answerable",
            'a question to which the memory knows the answer "no" is answerable',
        )


def _missing(task: Task, known: _Known) -> Iterator[Doubt]:
    for gold in task.gold:
        if gold.path in known.corpus.left_out:
            why = known.corpus.left_out[gold.path]
            yield _error(task, "gold-missing", f"{gold.path} is left out: {why}", "the memory would not have it either")
        elif gold.path not in known.corpus.files:
            yield _error(task, "gold-missing", f"there is no document {gold.path}", _nearest(gold.path, known.corpus))
    for path in task.stale:
        if path not in known.corpus.files:
            yield _error(task, "stale-missing", f"there is no document {path}", _nearest(path, known.corpus))
        if path in task.paths:
            yield _error(task, "stale-gold", f"{path} is both gold and stale", "decide on one")


def _outside(task: Task, known: _Known) -> Iterator[Doubt]:
    for gold in known.gold(task):
        text = known.corpus.text(gold.path)
        if gold.span and gold.span[1] > len(text):
            yield _error(task, "place-missing", f"{gold.path} has {len(text)} characters", "correct the span")
        if gold.lines and gold.lines[1] > text.count("\n") + 1:
            yield _error(task, "place-missing", f"{gold.path} has {text.count(chr(10)) + 1} lines", "correct the lines")


def _unreachable(task: Task, known: _Known) -> Iterator[Doubt]:
    if task.scope is None or not task.gold:
        return
    try:
        scope = re.compile(glob_to_regex(task.scope))
    except UsageError as error:
        yield _error(task, "gold-out-of-scope", error.message, error.suggestion)
        return
    if not any(scope.search(gold.path) for gold in task.gold):
        yield _error(task, "gold-out-of-scope", f"{task.scope} keeps all of its gold out", "correct the scope")


def _texts(task: Task, known: _Known) -> Iterator[Doubt]:
    held = [known.corpus.text(gold.path).casefold() for gold in known.gold(task)]
    for text in task.required:
        if held and not any(text.casefold() in one for one in held):
            yield _error(task, "required-missing", f"no gold document says {text!r}", "name the document that does")
    for text in task.forbidden:
        if held and all(text.casefold() in one for one in held):
            yield _error(task, "forbidden-gold", f"every gold document says {text!r}", "bind the gold to other ones")


def _undated(task: Task, known: _Known) -> Iterator[Doubt]:
    said = _NOW.search(task.query)
    if said and task.as_of is None:
        yield _warning(
            task,
            "no-date",
            f"it says {said[0]!r}, and not when that is",
            "set as_of: else the answer changes with time",
        )


def _leak(task: Task, known: _Known) -> Iterator[Doubt]:
    words = frozenset(content_words(task.query))
    for gold in known.gold(task):
        title = known.reading(gold.path).document.title
        named = frozenset(content_words(title))
        if named and len(words & named) >= LEAK * len(words | named):
            yield _warning(task, "title-leak", f"it asks for the title of {gold.path}: {title!r}", "ask as people ask")


def _unlike(task: Task, known: _Known) -> Iterator[Doubt]:
    gold = known.gold(task)
    if (
        gold
        and set(content_words(task.query))
        and not any(shared_matter(task.query, known.corpus.text(one.path)) for one in gold)
    ):
        yield _warning(task, "gold-unlike", "no word of it stands in its gold", "see whether the gold is the right one")


def _answered(task: Task, known: _Known) -> Iterator[Doubt]:
    words = frozenset(content_words(task.query))
    if task.answerable or len(words) < LEAST_WORDS:
        return
    found = next((path for path, held in known.words.items() if words <= held), None)
    if found:
        yield _warning(task, "maybe-answered", f"all of its words stand in {found}", "see whether that answers it")


def _twins(task: Task, known: _Known) -> Iterator[Doubt]:
    first = known.asked[_question(task)][0]
    if task is first:
        return
    if task.answerable != first.answerable or task.paths != first.paths:
        yield _error(task, "twins-differ", f"{first.id} asks the same and has another answer", "decide on one")
    else:
        yield _warning(task, "twins", f"{first.id} asks the same", "it counts twice: leave one out")


_RULES: tuple[Callable[[Task, _Known], Iterator[Doubt]], ...] = (
    _without_gold, _missing, _unreachable, _outside, _texts, _undated, _leak, _unlike, _answered, _twins,
)  # fmt: skip


def _question(task: Task) -> str:
    return f"{' '.join(task.query.casefold().split())}|{task.scope}|{task.as_of}|{task.known_as_of}"


def _nearest(path: str, corpus: Corpus) -> str:
    name = path.rsplit("/", 1)[-1]
    alike = [known for known in corpus.files if known.rsplit("/", 1)[-1] == name]
    return f"did you mean {alike[0]}?" if alike else "paths are those below the folder of documents"


def _error(task: Task, code: str, message: str, hint: str) -> Doubt:
    return Doubt(task.id, code, Severity.ERROR, message, hint)


def _warning(task: Task, code: str, message: str, hint: str) -> Doubt:
    return Doubt(task.id, code, Severity.WARNING, message, hint)
