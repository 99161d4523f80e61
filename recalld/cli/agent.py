"""``recall agent install | uninstall | status``: what an agent's program needs, in its own files, shown first."""

from __future__ import annotations

import difflib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from recalld.cli import agent_kit, hook, hook_settings, output
from recalld.cli.agent_kit import Change, Client, Scope, Start, State
from recalld.cli.command import Invocation
from recalld.errors import ConfigError, DependencyError, RefusedError, UsageError

Name = Annotated[Client, typer.Argument(metavar="PROGRAM", help="claude-code, codex, cursor or generic.")]
Project = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="In this project (default: the directory one is in).")
]
User = Annotated[bool, typer.Option("--user", help="In all projects of this user.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

INSTALL_EXAMPLES = """
recall agent install claude-code
recall agent install codex --user --dry-run
recall agent install cursor --project ~/work/shop --yes
recall agent install generic --json --yes
"""
UNINSTALL_EXAMPLES = """
recall agent uninstall claude-code
recall agent uninstall codex --user --yes
"""
STATUS_EXAMPLES = """
recall agent status
recall agent status --user --json
"""
FOLDERS = {".claude", "skills", "recalld", ".codex", ".cursor", "rules"}
"""Folders that an install may have made; empty, they go with what was in them."""

ANY_START = Start("recall", (), hook_settings.Hook(Path(), Path()))
"""What is taken out is found by its name, however it was started."""


def install(
    cli: Invocation,
    name: Name,
    project: Project = None,
    user: User = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Wire an agent's program to the memory: the MCP server, hooks where it has them, and a guide for the agent.

    Shows what would change in which files and asks. All else in them stays; doing it again changes nothing.
    """
    scope = _scope(project, user=user)
    changes = agent_kit.install(agent_kit.parts(name, scope, _start(cli, name)), _read)
    _carry_out(cli, changes, "installed", dry_run=dry_run, yes=yes, notes=_notes(name, scope))
    return 0


def uninstall(
    cli: Invocation,
    name: Name,
    project: Project = None,
    user: User = False,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> int:
    """Take out what the install put in, and nothing else. A guide that was edited since stays. Shows and asks."""
    scope = _scope(project, user=user)
    changes = agent_kit.uninstall(agent_kit.parts(name, scope, ANY_START), _read)
    notes = [f"{change.part.path} was edited since: it stays" for change in changes if change.edited]
    _carry_out(cli, changes, "uninstalled", dry_run=dry_run, yes=yes, notes=notes)
    if not dry_run:
        for change in changes:
            if change.changes and change.after is None:
                _tidy(change.part.path.resolve().parent, scope)
    return 0


def status(cli: Invocation, project: Project = None, user: User = False) -> int:
    """Show which programs are wired, part by part: installed, outdated, absent, edited or broken.

    Exit status 1 where a part is outdated or broken.
    """
    scope = _scope(project, user=user)
    clients = [client for client in Client if not (user and client is Client.GENERIC)]
    found = [(client, part) for client in clients for part in agent_kit.parts(client, scope, _start(cli, client))]
    states = [(client, part, agent_kit.state(part, _read)) for client, part in found]
    if cli.as_json:
        rows = [{"program": c, "part": p.what, "file": str(p.path), "state": s} for c, p, s in states]
        output.say(json.dumps({"parts": rows}))
    else:
        table = output.table("program", "part", "state", "file")
        for client, part, state in states:
            table.add_row(client, part.what, state, output.plain(str(part.path)))
        output.console().print(table)
    return int(any(state in (State.OUTDATED, State.BROKEN) for _, _, state in states))


def _scope(project: Path | None, *, user: bool) -> Scope:
    """Return where to install. Raises UsageError."""
    if user and project is not None:
        raise UsageError("--user is for all projects", suggestion="leave out --project")
    root = Path.home() if user else (project or Path.cwd()).expanduser().absolute()
    if not root.is_dir():
        raise UsageError(f"{root} is not a directory", suggestion="check the path")
    return Scope(root, Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex"), user)


def _start(cli: Invocation, client: Client) -> Start:
    """Return how the server and the hook are started. Raises ConfigError, RefusedError."""
    arguments = ["mcp", *hook.where(cli), "--agent", cli.agent or str(client)]
    if cli.config is not None:
        arguments += ["--config", str(cli.config.expanduser().absolute())]
    ours = ["--agent", cli.agent] if cli.agent else []
    at = hook_settings.Hook(Path(sys.executable), hook.hook_file(), [*hook.where(cli), *ours])
    return Start(_program(), arguments, at)


def _program() -> str:
    """Return the word that starts this ``recall``: its name where the shell finds it by that. Raises ConfigError."""
    beside, known = Path(sys.executable).with_name("recall"), shutil.which("recall")
    if not beside.is_file():
        if known is None:
            raise ConfigError("no program `recall` is installed", suggestion="install recalld with pip")
        return "recall"
    return "recall" if known is not None and Path(known).samefile(beside) else str(beside)


def _notes(client: Client, scope: Scope) -> list[str]:
    of_scope = agent_kit.USER_NOTES if scope.user else agent_kit.PROJECT_NOTES
    found = [agent_kit.NOTES.get(client, ""), of_scope.get(client, "")]
    shared = scope.root / ".claude/settings.json"
    if client is Client.CLAUDE_CODE and not scope.user and hook_settings.MARK.encode() in (_read(shared) or b""):
        found.append(f"a hook is in {shared}, too, and both speak: `recall hook uninstall` takes that one out")
    if find_spec("mcp") is None:
        found.append("the server needs the MCP SDK: pip install 'recalld[mcp]'")
    return [note for note in found if note]


def _read(path: Path) -> bytes | None:
    """Return a file's bytes, None where there is none. Raises DependencyError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DependencyError(f"{path} cannot be read: {error.strerror}", suggestion="see its permissions") from error


def _carry_out(
    cli: Invocation, changes: Sequence[Change], done: str, *, dry_run: bool, yes: bool, notes: Sequence[str]
) -> None:
    """Show what changes, ask, write, and say what was done."""
    due = [change for change in changes if change.changes]
    if not cli.as_json:
        for change in due:
            for line in _diff(change):
                output.say(line)
    if due and not dry_run:
        if not yes:
            _confirm(f"change {len(due)} files?" if len(due) > 1 else f"change {due[0].part.path}?", cli)
        for change in due:
            _write(change)
    if cli.as_json:
        files = [_told(change) for change in changes]
        output.say(json.dumps({done: not dry_run, "dry_run": dry_run, "files": files, "notes": list(notes)}))
        return
    for change in changes:
        state = "edited" if change.edited else (done if change.changes else f"{done} already")
        output.say(f"{'would be ' * (dry_run and change.changes)}{state}: {change.part.what} in {change.part.path}")
    for note in notes:
        output.say(f"note: {note}")


def _told(change: Change) -> dict[str, object]:
    made, gone = change.before is None and change.changes, change.after is None and change.changes
    return {
        "part": change.part.what,
        "file": str(change.part.path),
        "changed": change.changes,
        "created": made,
        "deleted": gone,
        "edited": change.edited,
        "diff": _diff(change),
    }


def _diff(change: Change) -> list[str]:
    before, after = ((content or b"").decode().splitlines() for content in (change.before, change.after))
    name = str(change.part.path)
    names = ["/dev/null" if content is None else name for content in (change.before, change.after)]
    return list(difflib.unified_diff(before, after, names[0], names[1], lineterm="")) if change.changes else []


def _confirm(question: str, cli: Invocation) -> None:
    """Ask a person. Raises UsageError where nobody is there, RefusedError for a no."""
    if cli.as_json or not sys.stdin.isatty():
        raise UsageError(
            "this changes files and nobody is there to ask", suggestion="add --yes to do it, --dry-run to look"
        )
    if not typer.confirm(question, err=True):
        raise RefusedError("left as it was")


def _write(change: Change) -> None:
    """Make a file as planned: whole or not at all, links followed. Raises RefusedError, DependencyError."""
    from recalld.watch.creating import create_bytes, replace

    path = change.part.path.resolve()
    try:
        if change.after is None:
            _delete(path, change)
        elif change.before is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            create_bytes(path.parent, path.name, change.after)
        else:
            replace(path, change.before, change.after)
    except OSError as error:
        raise DependencyError(
            f"{path} cannot be written: {error.strerror}", suggestion="see its permissions"
        ) from error


def _delete(path: Path, change: Change) -> None:
    if path.read_bytes() != change.before:
        raise RefusedError(f"{path} was saved meanwhile; it is left as it is", suggestion="try again")
    path.unlink()


def _tidy(folder: Path, scope: Scope) -> None:
    """Remove folders that an install may have made and that are empty now, from the innermost up."""
    for each in (folder, *folder.parents):
        outside = each in (scope.root.resolve(), Path.home().resolve())
        if outside or each.name not in FOLDERS or (each.is_dir() and any(each.iterdir())):
            return
        if each.is_dir():
            each.rmdir()
