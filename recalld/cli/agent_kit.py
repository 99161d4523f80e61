"""What each agent's program needs in which file, and what would change: plans of files before and after. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from recalld.cli import agent_blocks, agent_guide, agent_json, hook_settings
from recalld.errors import RefusedError, UsageError

Read = Callable[[Path], bytes | None]
"""Gives a file's bytes, None where there is no file."""


class Client(StrEnum):
    """A program that agents run in."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    CURSOR = "cursor"
    GENERIC = "generic"


class State(StrEnum):
    """How a part stands. ``outdated``: an install would change it. ``edited``: it is left alone."""

    INSTALLED = "installed"
    OUTDATED = "outdated"
    ABSENT = "absent"
    EDITED = "edited"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to install: in a project, or for all projects of a user. ``codex`` is the home of Codex."""

    root: Path
    codex: Path
    user: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """How the MCP server is started, and the hook that Claude Code gets."""

    command: str
    arguments: Sequence[str]
    hook: hook_settings.Hook

    def entry(self) -> dict[str, Any]:
        """Return the server's entry in a client's settings."""
        return {"command": self.command, "args": list(self.arguments)}


@dataclass(frozen=True, slots=True)
class Part:
    """One thing in one file.

    ``put`` gives the text with it, ``out`` without it (None: no file); both raise RefusedError. ``edited`` tells
    whether a person changed it.
    """

    what: str
    path: Path
    put: Callable[[str | None], str]
    out: Callable[[str], str | None]
    edited: Callable[[str], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class Change:
    """What a part's file is, and will be; None where there is none. ``edited``: it was changed since, and stays."""

    part: Part
    before: bytes | None
    after: bytes | None
    edited: bool = False

    @property
    def changes(self) -> bool:
        """Tell whether anything is to be written."""
        return self.before != self.after


def parts(client: Client, scope: Scope, start: Start) -> list[Part]:
    """Return what a client gets. Raises UsageError where there is no place for it."""
    root, entry = scope.root, start.entry()
    if client is Client.CLAUDE_CODE:
        settings = root / ".claude" / ("settings.json" if scope.user else "settings.local.json")
        return [
            _json_server(root / (".claude.json" if scope.user else ".mcp.json"), entry),
            Part("hooks", settings, partial(_hooks_in, hook=start.hook), _hooks_out),
            _own(root / ".claude/skills/recalld/SKILL.md", "skill", agent_guide.skill()),
        ]
    if client is Client.CODEX:
        table = partial(agent_blocks.table_in, entry=entry)
        guide = (scope.codex if scope.user else root) / "AGENTS.md"
        return [Part("server", scope.codex / "config.toml", table, agent_blocks.table_out), _section(guide)]
    if client is Client.CURSOR:
        server = _json_server(root / ".cursor/mcp.json", entry)
        rule = _own(root / ".cursor/rules/recalld.mdc", "rules", agent_guide.rule())
        return [server] if scope.user else [server, rule]
    if scope.user:
        raise UsageError("no file is common to all programs of a user", suggestion="give --project DIR")
    return [_json_server(root / "mcp.json", entry), _section(root / "AGENTS.md")]


NOTES: Mapping[Client, str] = {
    Client.CODEX: "no hook is installed in Codex: the section in AGENTS.md tells it to ask `recall_preflight`",
    Client.CURSOR: "no hook is installed in Cursor: the rules tell it to ask `recall_preflight`",
    Client.GENERIC: "no hook is installed: have your program run `recall preflight` before it acts; give it mcp.json",
}
"""What a client does not get."""
PROJECT_NOTES: Mapping[Client, str] = {
    Client.CLAUDE_CODE: "Claude Code asks once whether to trust .mcp.json: start `claude` in the project and approve "
    "recalld, until then it has no tools of it",
}
USER_NOTES: Mapping[Client, str] = {
    Client.CURSOR: "no rules are written for all projects: install with --project DIR for them",
}


def install(parts: Sequence[Part], read: Read) -> list[Change]:
    """Return what installing changes. Raises RefusedError, with the file's name, where a file is not to be touched."""
    changes = []
    for part in parts:
        before = read(part.path)
        text = _text(part, before)
        if text is not None and part.edited(text):
            raise RefusedError(
                f"{part.path}: it is not as recalld wrote it", suggestion="move it away; it is left as it is"
            )
        changes.append(Change(part, before, _named(part, part.put, text).encode()))
    return changes


def uninstall(parts: Sequence[Part], read: Read) -> list[Change]:
    """Return what uninstalling changes; what was edited since stays. Raises RefusedError as :func:`install`."""
    changes = []
    for part in parts:
        before = read(part.path)
        text = _text(part, before)
        if text is None or part.edited(text):
            changes.append(Change(part, before, before, edited=text is not None))
            continue
        left = _named(part, part.out, text)
        changes.append(Change(part, before, None if left is None else left.encode()))
    return changes


def state(part: Part, read: Read) -> State:
    """Tell how a part stands."""
    try:
        before = read(part.path)
        text = _text(part, before)
        if text is None:
            return State.ABSENT
        if part.edited(text):
            return State.EDITED
        if part.put(text) == text:
            return State.INSTALLED
        return State.ABSENT if part.out(text) == text else State.OUTDATED
    except RefusedError:
        return State.BROKEN


def _text(part: Part, content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        raise RefusedError(f"{part.path} is not UTF-8", suggestion="mend the file first; it is left as it is") from None


def _named(part: Part, change: Callable[[Any], Any], text: str | None) -> Any:
    try:
        return change(text)
    except RefusedError as error:
        raise RefusedError(f"{part.path}: {error.message}", suggestion=error.suggestion) from None


SERVER = ("mcpServers", "recalld")


def _json_server(path: Path, entry: dict[str, Any]) -> Part:
    return Part("server", path, partial(_server_in, entry=entry), _server_out)


def _server_in(text: str | None, entry: dict[str, Any]) -> str:
    servers = agent_json.read(text).get(SERVER[0], {})
    there = servers.get(SERVER[1]) if isinstance(servers, dict) else None
    wanted = {**there, **entry} if isinstance(there, dict) else entry
    return text if text is not None and there == wanted else agent_json.inserted(text, SERVER, wanted)


def _server_out(text: str) -> str | None:
    servers = agent_json.read(text).get(SERVER[0])
    there = isinstance(servers, dict) and SERVER[1] in servers
    return agent_json.removed(text, SERVER) if there else text


def _hooks_in(text: str | None, hook: hook_settings.Hook) -> str:
    """Put the hook in, or bring it up to date with what ``recall hook install`` was told besides."""
    settings = agent_json.read(text)
    there = {
        event: found for event, groups in hook_settings.events_of(settings).items() if (found := _commands(groups))
    }
    if there:
        own = _own_options(next(iter(there.values()))[0])
        hook = replace(hook, options=[*hook.options, *own], capture=bool(there.keys() & hook_settings.CAPTURED.keys()))
    groups = hook.groups()
    if text is not None and there == {event: _commands([group]) for event, group in groups.items()}:
        return text
    made = _hooks_out(text) if text is not None and there else text
    for event, group in groups.items():
        made = agent_json.inserted(made, ("hooks", event, None), group)
    return made or ""


def _commands(groups: Sequence[Any]) -> list[str]:
    """Return our commands in groups of hooks."""
    hooks = (each for group in groups if hook_settings.has_ours(group) for each in group["hooks"])
    return [each["command"] for each in hooks if hook_settings.is_our_command(each)]


def _own_options(command: str) -> list[str]:
    """Return the options of a hook's command that are not about where the daemon is."""
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return [word for n, word in enumerate(words) if {word, words[n - 1]} & {"--repo", "--budget-ms"}]


def _hooks_out(text: str) -> str | None:
    left: str | None = text
    while left is not None and (path := _ours(agent_json.read(left))):
        left = agent_json.removed(left, path)
    return left


def _ours(settings: Mapping[str, Any]) -> list[str | int]:
    """Return where a hook of ours stands: its group, or its place in a group of others; nothing where none is."""
    for event, groups in hook_settings.events_of(settings).items():
        for n, group in enumerate(groups):
            if hook_settings.is_ours(group):
                return ["hooks", event, n]
            if hook_settings.has_ours(group):
                place = next(m for m, each in enumerate(group["hooks"]) if hook_settings.is_our_command(each))
                return ["hooks", event, n, "hooks", place]
    return []


def _section(path: Path) -> Part:
    put = partial(agent_blocks.section_in, body=agent_guide.guide())
    return Part("section", path, put, agent_blocks.section_out)


def _own(path: Path, what: str, text: str) -> Part:
    return Part(what, path, lambda _: text, lambda _: None, lambda there: not agent_guide.is_untouched(there))
