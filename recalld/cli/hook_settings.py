"""The hook in Claude Code's settings: put in, brought up to date, taken out, and nothing else touched. Pure."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any

from recalld.errors import RefusedError

MARK = "recalld_plugins/claude_code/hook.py"
"""What a command of ours has in it, wherever recalld is installed."""
ACTING = "Bash|Edit|MultiEdit|Write|NotebookEdit|Task|Agent|mcp__.*"
"""The tools that can do harm; before those that only look nothing is asked."""
MATCHERS = {"PreToolUse": ACTING, "SessionStart": "startup|clear|compact"}
CAPTURED = {"PostToolUseFailure": "Bash|mcp__.*"}
"""A PostToolUse comes after success only."""
TIMEOUT_S = 5
"""Claude Code's own limit; the hook's is far below it."""

KIND = "settings of Claude Code"
"""What a file is meant to be, in messages."""

Settings = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hook:
    """How the hook is started: the interpreter, the file, and the options that it is given at every event."""

    python: PurePath
    file: PurePath
    options: Sequence[str] = ()
    capture: bool = False

    def command(self, event: str) -> str:
        """Return the shell's command for an event.

        It cannot fail: Python ends with 2 where the file is gone, which Claude Code takes for a veto of the tool call.
        """
        words = [str(self.python), "-I", "-S", str(self.file), event, *self.options]
        return f"{shlex.join([*words, '--capture'] if event in CAPTURED else words)} || true"

    def groups(self) -> dict[str, Settings]:
        """Return what stands in the settings for each event."""
        matchers = MATCHERS | (CAPTURED if self.capture else {})
        return {
            event: {
                "matcher": matcher,
                "hooks": [{"type": "command", "command": self.command(event), "timeout": TIMEOUT_S}],
            }
            for event, matcher in matchers.items()
        }


def installed(settings: Settings, hook: Hook) -> Settings:
    """Return the settings with the hook, in the place of an earlier one. Raises RefusedError for no settings."""
    wanted = hook.groups()
    events = events_of(settings)
    made: dict[str, Any] = {}
    for event, groups in events.items():
        rest = [kept for each in groups for kept in _kept(each, wanted.pop(event, None) if is_ours(each) else None)]
        if rest or not groups:
            made[event] = rest
    for event, group in wanted.items():
        made[event] = [*made.get(event, []), group]
    return {**settings, "hooks": made}


def uninstalled(settings: Settings) -> Settings:
    """Return the settings without the hook, and without what only it needed. Raises RefusedError."""
    events = events_of(settings)
    if not any(has_ours(group) for groups in events.values() for group in groups):
        return settings
    made: dict[str, Any] = {}
    for event, groups in events.items():
        rest = [kept for group in groups for kept in _kept(group)]
        if rest or not groups:
            made[event] = rest
    return {key: made if key == "hooks" else value for key, value in settings.items() if key != "hooks" or made}


def events_of(settings: Mapping[str, Any]) -> Mapping[str, list[Any]]:
    """Return the groups of hooks of each event. Raises RefusedError where they are none."""
    events = settings.get("hooks", {})
    if not isinstance(events, dict):
        raise _refused('"hooks" is no object')
    for event, groups in events.items():
        if not isinstance(groups, list):
            raise _refused(f'"hooks": {json.dumps(event)} is no list')
    return events


def _kept(group: Any, ours: Settings | None = None) -> list[Any]:
    """Return what is left of a group of hooks, with ours replaced: nothing where it held only ours and none comes."""
    if not has_ours(group):
        return [group]
    if ours is not None:
        return [{**group, **ours}]
    rest = [each for each in group["hooks"] if not is_our_command(each)]
    return [{**group, "hooks": rest}] if rest else []


def has_ours(group: Any) -> bool:
    """Tell whether a group of hooks holds our hook."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return isinstance(hooks, list) and any(is_our_command(each) for each in hooks)


def is_ours(group: Any) -> bool:
    """Tell whether a group holds our hook and nothing else."""
    return has_ours(group) and all(is_our_command(each) for each in group["hooks"])


def is_our_command(entry: Any) -> bool:
    """Tell whether a hook is ours."""
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and MARK in command.replace("\\", "/")


def read(text: str, what: str = KIND) -> Settings:
    """Return the settings that a file holds, ``what`` it should be; an empty file holds none. Raises RefusedError."""
    if not text.strip():
        return {}
    try:
        settings = json.loads(text, object_pairs_hook=partial(_once, what=what))
    except json.JSONDecodeError as error:
        raise _refused(f"line {error.lineno}, column {error.colno}: {error.msg}", what) from None
    except RecursionError:
        raise _refused("it is nested too deeply", what) from None
    if not isinstance(settings, dict):
        raise _refused("it holds no JSON object", what)
    return settings


def _once(pairs: list[tuple[str, Any]], what: str) -> Settings:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
        raise _refused(f"{json.dumps(twice)} is there twice, and one of them would be lost", what)
    return found


def written(settings: Settings, before: str) -> str:
    """Return the settings as a file, laid out as ``before`` is as far as can be seen."""
    found = re.search(r"^\{[ \t]*\r?\n([ \t]+)\"", before.lstrip("\ufeff \t\r\n"))
    indent: str | int | None = found[1] if found else 2
    if before.strip() and "\n" not in before.strip() and len(read(before)) > 0:
        indent = None
    text = json.dumps(settings, indent=indent, ensure_ascii=before.isascii() and "\\u" in before)
    end = "\n" if before.endswith("\n") or not before.strip() else ""
    return (text + end).replace("\n", "\r\n" if "\r\n" in before else "\n")


def _refused(fault: str, what: str = KIND) -> RefusedError:
    return RefusedError(f"no {what}: {fault}", suggestion="mend the file first; it is left as it is")
