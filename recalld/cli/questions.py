"""``recall evaluate check | import | propose``: the questions that a memory is measured with."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation, finished
from recalld.cli.evaluating import CorpusFolder, Seed, Tasks, corpus_of
from recalld.errors import UsageError

if TYPE_CHECKING:
    from recalld.evaluate.doubts import Doubt
    from recalld.evaluate.proposals import Proposal
    from recalld.evaluate.tasks import Task

CHECK_EXAMPLES = "recall evaluate check --tasks questions.jsonl --corpus ~/notes"
IMPORT_EXAMPLES = """
recall evaluate import csv questions.csv questions
recall evaluate import beir ~/data/scifact scifact
"""
PROPOSE_EXAMPLES = """
recall evaluate propose ~/notes questions.jsonl
recall evaluate propose ~/notes questions.jsonl --count 50 --yes
"""
SHOWN = 60
"""Characters of an id that are shown."""
SKIP, STOP = "-", "."
_KEYS = f"[dim]Enter takes it, {SKIP} leaves it, {STOP} stops; anything else is your own question[/]"


async def check(cli: Invocation, tasks: Tasks, corpus: CorpusFolder = None) -> int:
    """Find tasks that measure nothing, or the wrong thing, before a run does.

    Gold that is not there, questions that give their answer away or say "now" without a date, and labels that look
    wrong. Exit status 1 when a task is impossible; warnings are for you to look at.
    """
    from recalld.evaluate.doubts import doubts
    from recalld.evaluate.tasks import read_tasks

    asked = read_tasks(tasks)
    found = doubts(asked, await corpus_of(corpus, tasks))
    if cli.as_json:
        typer.echo(json.dumps({"tasks": len(asked), "doubts": [asdict(doubt) for doubt in found]}))
    else:
        _show(asked, found)
    return 1 if any(doubt.severity == "error" for doubt in found) else 0


def _show(asked: list[Task], found: list[Doubt]) -> None:
    console = output.console()
    if found:
        table = output.table("task", "what", "why", "what to do")
        for doubt in found:
            colour = "red" if doubt.severity == "error" else "yellow"
            table.add_row(
                output.plain(_short(doubt.task)),
                f"[{colour}]{doubt.code}[/]",
                output.plain(doubt.message),
                output.plain(doubt.hint),
            )
        console.print(table)
    errors = sum(doubt.severity == "error" for doubt in found)
    unknown = sum(not task.answerable for task in asked)
    console.print(
        f"{len(asked)} tasks, {unknown} that cannot be known; {errors} errors, {len(found) - errors} warnings"
    )
    if not unknown:
        console.print("[yellow]all are answerable[/]: add some that it cannot know, to see whether it says so")


def _short(id_: str) -> str:
    return " ".join(id_.split())[:SHOWN]


def import_(
    cli: Invocation,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="beir, csv, locomo, peps, spans, squad or statebench.")],
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="The file or folder to read.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder for the tasks and documents.")],
) -> int:
    """Read a question set that others made, and write it as tasks.jsonl and documents/."""
    from recalld.evaluate.importers import import_from, write

    found = import_from(kind, source)
    write(found, folder)
    if cli.as_json:
        reply = {"tasks": len(found.tasks), "documents": len(found.documents), "notes": found.notes}
        typer.echo(json.dumps({"folder": str(folder), **reply}))
        return 0
    for note in found.notes:
        output.say(note)
    asked = f"{len(found.tasks)} tasks on {len(found.documents)} documents in {folder}"
    output.say(
        asked
        if found.documents
        else f"{len(found.tasks)} tasks in {folder}; name the folder of their documents with --corpus"
    )
    return 0


def propose(
    cli: Invocation,
    corpus: Annotated[Path, typer.Argument(metavar="DIR", help="The documents to ask about.")],
    tasks: Annotated[Path, typer.Argument(metavar="FILE", help="The task file; what is taken is added to it.")],
    number: Annotated[int, typer.Option("--count", min=1, help="Questions to take.")] = 20,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take them as they are, without asking.")] = False,
    seed: Seed = 0,
) -> int:
    """Write tasks with you: passages of your own memory are shown, each with a question that it answers.

    Your own words make better questions than the ones proposed. Each is saved as soon as you have taken it.
    """
    from recalld.evaluate.corpus import read_corpus
    from recalld.evaluate.proposals import propose as proposals
    from recalld.evaluate.tasks import read_tasks

    if cli.as_json and not yes:
        raise UsageError("--json asks no question", suggestion="add --yes")
    known = read_tasks(tasks) if tasks.exists() else []
    offered = proposals(finished(read_corpus(corpus)), random.Random(seed), known)
    ids = {task.id for task in known}
    taken: list[Task] = []
    for task in _as_they_are(offered) if yes else _asked(offered):
        taken.append(_add(tasks, task, ids))
        if len(taken) == number:
            break
    else:
        typer.echo("that is all: there are no more passages to ask for", err=True)
    if not yes and taken:
        taken += _unknowable(tasks, ids)
    if cli.as_json:
        typer.echo(json.dumps({"file": str(tasks), "added": [task.model_dump(mode="json") for task in taken]}))
    else:
        output.say(f"{len(taken)} tasks added to {tasks}")
    return 0


def _as_they_are(offered: Iterable[Proposal]) -> Iterable[Task]:
    return (proposal.task for proposal in offered)


def _asked(offered: Iterable[Proposal]) -> Iterable[Task]:
    """Yield what the person takes, until they stop."""
    console = output.console()
    for proposal in offered:
        console.print(f"\n[bold]{output.plain(proposal.place)}[/]\n{output.plain(proposal.passage)}\n")
        console.print(f"[cyan]{output.plain(proposal.task.query)}[/]\n{_KEYS}")
        said = _said()
        if said == STOP:
            return
        if said != SKIP:
            yield proposal.task.model_copy(update={"query": said, "category": ""} if said else {})


def _unknowable(path: Path, ids: set[str]) -> list[Task]:
    from recalld.evaluate.tasks import Task

    output.say("\nNow some that your memory cannot know, so that it can be seen whether it says so. Enter alone ends.")
    found: list[Task] = []
    while (said := _said()) and said != STOP:
        if said != SKIP:
            found.append(_add(path, Task(id="unknown", query=said, answerable=False), ids))
    return found


def _said() -> str:
    """Return what the person types; bytes that are no text are shown as such, not kept."""
    said: str = typer.prompt(">", default="", show_default=False)
    return said.strip().encode("utf-8", "replace").decode("utf-8")


def _add(path: Path, task: Task, ids: set[str]) -> Task:
    """Add a task to a file, on a line and under an id of its own, and return it."""
    numbered = (task.id if number == 1 else f"{task.id}-{number}" for number in count(1))
    task = task.model_copy(update={"id": next(id_ for id_ in numbered if id_ not in ids)})
    ids.add(task.id)
    try:
        with path.open("a+b") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            before = b"" if file.read(1) in (b"", b"\n") else b"\n"
            file.write(before + f"{task.model_dump_json(exclude_defaults=True)}\n".encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", suggestion="name another file") from error
    return task
