"""Opening documents: in a screen of their own, or in $EDITOR while the app is put aside."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from recalld.errors import NotFoundError, RecalldError, UsageError
from recalld_tui.screens.document import Document
from recalld_tui.working import begin

if TYPE_CHECKING:
    from recalld_tui.app import Dashboard

GOES_TO_LINE = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "kak", "micro", "joe", "ne")
"""Editors that take ``+LINE FILE``."""


def open_document(app: Dashboard, repo: str, path: str, lines: tuple[int, int] = (1, 1)) -> None:
    """Fetch a document and show it at the lines; says so where there is none."""

    async def run() -> None:
        try:
            reply = await app.link.ask(lambda client: client.get(path, repo=repo))
        except RecalldError as error:
            app.tell(error)
            return
        await app.push_screen(Document(reply, lines))

    begin(app, run, "open", exclusive=True)


def command_for(editor: str, file: Path, line: int) -> Sequence[str]:
    """Return the command that opens a file at a line. Raises UsageError for an editor that is no command."""
    try:
        words = shlex.split(editor)
    except ValueError as error:
        raise UsageError(f"$EDITOR {editor!r} is no command: {error}") from error
    if not words:
        raise UsageError("no editor is set", suggestion="export EDITOR=vim")
    name = Path(words[0]).name
    if name in GOES_TO_LINE:
        return [*words, f"+{line}", str(file)]
    if name in ("code", "codium", "code-insiders"):
        return [*words, "--wait", "--goto", f"{file}:{line}"]
    return [*words, str(file)]


def file_of(root: str, path: str) -> Path:
    """Return the file of a document on this machine. Raises NotFoundError where it is not here, or not below root."""
    base = Path(root).resolve()
    file = (base / path).resolve()
    if not file.is_relative_to(base) or not file.is_file():
        raise NotFoundError(f"{path} is not on this machine", suggestion=f"the repo is at {root} of its node")
    return file


def editor_of(environment: os._Environ[str] | dict[str, str]) -> str:
    """Return the user's editor as the environment names it; vi where it names none."""
    return environment.get("VISUAL") or environment.get("EDITOR") or "vi"


def run_editor(command: Sequence[str]) -> UsageError | None:
    """Run an editor in the foreground; return why where it cannot be started."""
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        return UsageError(f"{command[0]} does not start: {error.strerror}", suggestion="set $EDITOR")
    return None
