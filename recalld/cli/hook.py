"""``recall hook install | uninstall``: the hook in Claude Code's settings, shown before it is written."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from recalld.cli import hook_settings, output
from recalld.cli.command import Invocation
from recalld.errors import ConfigError, DependencyError, RefusedError, UsageError

Project = Annotated[
    Path | None, typer.Option("--project", metavar="DIR", help="In this project (default: the directory one is in).")
]
User = Annotated[bool, typer.Option("--user", help="In all projects of this user.")]
Local = Annotated[bool, typer.Option("--local", help="In settings.local.json, which is not shared by git.")]
Capture = Annotated[bool, typer.Option("--capture", help="Make a proposed lesson of each tool call that fails.")]
RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="Ask, and learn, in this repo only.")]
Budget = Annotated[
    int | None, typer.Option("--budget-ms", metavar="N", min=1, max=60_000, help="How long the hook may take at most.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

INSTALL_EXAMPLES = """
recall hook install
recall hook install --user --capture
recall hook install --project ~/work/shop --local --budget-ms 150 --yes
"""
UNINSTALL_EXAMPLES = """
recall hook uninstall
recall hook uninstall --user --yes
"""


def install(
    cli: Invocation,
    project: Project = None,
    user: User = False,
    local: Local = False,
    capture: Capture = False,
    repo: RepoName = None,
    budget_ms: Budget = None,
    yes: Yes = False,
) -> int:
    """Have Claude Code ask the memory before a tool runs and when a session starts.

    Shows what would change in the settings and asks. Other hooks stay; doing it again brings ours up to date.
    """
    options = _options(cli, repo, budget_ms)
    hook = hook_settings.Hook(Path(sys.executable), hook_file(), options, capture)
    file = _file(project, user=user, local=local)
    return _change(cli, file, lambda settings: hook_settings.installed(settings, hook), "installed", yes=yes)


def uninstall(
    cli: Invocation, project: Project = None, user: User = False, local: Local = False, yes: Yes = False
) -> int:
    """Take the hook out of Claude Code's settings, and nothing else. Shows what would change and asks."""
    file = _file(project, user=user, local=local)
    return _change(cli, file, hook_settings.uninstalled, "uninstalled", yes=yes)


def hook_file() -> Path:
    """Return the program that Claude Code is to start. Raises ConfigError where it is not installed."""
    spec = find_spec("recalld_plugins.claude_code")
    places = [Path(place) / "hook.py" for place in (spec.submodule_search_locations or ())] if spec else []
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise ConfigError("the hook is not part of this installation", suggestion="install recalld anew")
    return found.absolute()


def where(cli: Invocation) -> list[str]:
    """Return the options by which the daemon is found without a settings file. Raises ConfigError, RefusedError."""
    from recalld.configuration import load
    from recalld.settings import default_state_dir

    settings, _ = load(cli.config, cli.flags())
    if not settings.bus.servers:
        state = settings.node.state_dir
        return [] if state == default_state_dir() else ["--state-dir", str(state.expanduser().absolute())]
    if any("@" in server for server in settings.bus.servers):
        raise RefusedError(
            "a server's password would stand in the settings of the agent's program",
            suggestion="leave it out of the URL: set RECALLD_BUS__USER and RECALLD_BUS__PASSWORD where it runs",
        )
    return ["--server", ",".join(settings.bus.servers)]


def _options(cli: Invocation, repo: str | None, budget_ms: int | None) -> list[str]:
    """Return what the hook has to be told, since it reads no settings file. Raises ConfigError, RefusedError."""
    from recalld.configuration import load

    found = where(cli)
    if load(cli.config, cli.flags())[0].bus.credentials_file:
        raise ConfigError(
            "the hook cannot use bus.credentials_file", suggestion="give it a user and a password of its own"
        )
    for name, value in (("--agent", cli.agent), ("--repo", repo), ("--budget-ms", budget_ms)):
        found += [] if value is None else [name, str(value)]
    return found


def _file(project: Path | None, *, user: bool, local: bool) -> Path:
    """Return the settings file that is meant, links followed. Raises UsageError."""
    if user and (project is not None or local):
        raise UsageError("--user are the settings of all projects", suggestion="leave out --project and --local")
    root = Path.home() if user else (project or Path.cwd()).expanduser()
    if not root.is_dir():
        raise UsageError(f"{root} is not a directory", suggestion="check the path")
    return (root / ".claude" / ("settings.local.json" if local else "settings.json")).resolve()


def _read(file: Path) -> str:
    """Return a settings file, empty where there is none. Raises RefusedError, DependencyError."""
    try:
        return file.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise RefusedError(f"{file} is not UTF-8", suggestion="mend the file first; it is left as it is") from None
    except OSError as error:
        raise DependencyError(f"{file} cannot be read: {error.strerror}", suggestion="see its permissions") from error


def _change(
    cli: Invocation,
    file: Path,
    change: Callable[[hook_settings.Settings], hook_settings.Settings],
    done: str,
    *,
    yes: bool,
) -> int:
    """Show what a change does to a settings file, ask, write, and say what was done."""
    before = _read(file)
    try:
        settings = hook_settings.read(before)
        left = change(settings)
        after = before if left == settings else hook_settings.written(left, before)
    except RefusedError as error:
        raise RefusedError(f"{file}: {error.message}", suggestion=error.suggestion) from None
    diff = list(difflib.unified_diff(before.splitlines(), after.splitlines(), str(file), str(file), lineterm=""))
    changed = before != after
    if not cli.as_json:
        for line in diff:
            output.say(line)
    if changed:
        if not yes:
            _confirm(f"write {file}?", as_json=cli.as_json)
        _write(file, before, after)
    if cli.as_json:
        output.say(json.dumps({"settings": str(file), "changed": changed, done: True, "diff": diff}))
    else:
        output.say(f"{done} in {file}" if changed else f"nothing to change: {done} in {file} already")
    return 0


def _confirm(question: str, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise RefusedError("this changes settings and nobody is there to ask", suggestion="add --yes")
    if not typer.confirm(question, err=True):
        raise RefusedError("left as it was")


def _write(file: Path, before: str, after: str) -> None:
    from recalld.watch.creating import create, replace

    if file.exists():
        replace(file, before.encode(), after.encode())
        return
    try:
        file.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise DependencyError(
            f"{file.parent} cannot be made: {error.strerror}", suggestion="see its permissions"
        ) from error
    create(file.parent, file.name, after)
