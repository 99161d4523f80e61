"""Whether an act can do harm at all: looking at things cannot, and neither can words about the code. Pure.

Most acts that share words with a lesson only look at what the lesson is about. Telling them apart by what a command
does keeps lessons silent there, without asking for more words in common elsewhere.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from recalld.lessons.guardrail import Action

READING_TOOLS = frozenset({"read", "grep", "glob", "ls", "webfetch", "websearch", "notebookread"})
READERS = frozenset(
    """
    awk basename bat cat cd cmp column comm curl cut date df diff dig dirname du echo egrep exit export fd fgrep
    file find free grep head history hostname id jq less ls lsof man md5sum more nl nproc nslookup pgrep ping printenv
    printf ps pwd realpath rg sed sha256sum shasum sleep sort stat strings tac tail test top tr tree true type uname
    uniq uptime wc which whoami xxd yq zcat
    """.split()  # noqa: SIM905
)
"""Programs that show; options that make them write are looked for."""
CHECKERS = frozenset(
    """
    bandit black coverage eslint flake8 isort jest mypy prettier pydocstyle pylint pyright pytest ruff stylelint tox tsc
    vitest
    """.split()  # noqa: SIM905
)
"""Programs that test, check or format a working copy."""
SHOWING = frozenset(
    """
    api-resources blame check cluster-info current describe diff events explain fetch fmt get graph heads help
    history images info inspect lint list log logs ls outdated output plan ps search show stat stats status tags
    test tests top validate version view whoami
    """.split()  # noqa: SIM905
)
"""Subcommands that show, of programs that have some: ``git log``, ``kubectl get``, ``terraform plan``."""
GROUPS = frozenset(
    """
    cache config container context image issue job network node package pod pr release repo rollout run secret stash
    state system volume workflow workspace worktree
    """.split()  # noqa: SIM905
)
"""Subcommands that have subcommands of their own: ``docker image ls``, ``terraform state list``."""
_WRITES = re.compile(
    r"\s(?:-i\b|--in-place|-delete\b|-exec\b|-X\s*(?:POST|PUT|PATCH|DELETE)|-d\b|--data|-T\b|-o\s)|(?<![0-9&])>(?!&|\s*/dev/null)"
)
_SQL = re.compile(
    r"\b(?:alter|call|cluster|copy|create|delete|drop|grant|insert|lock|merge|reindex|revoke|set|truncate|update|vacuum)\b",
    re.IGNORECASE,
)
_SQL_CLIENTS = frozenset({"psql", "sqlite3", "mysql", "pgcli"})
_NESTED = re.compile(r"\$\(|`|<\(|>\(")
"""A command in a command: what it does is not looked at."""
_SPLIT = re.compile(r"\|\||&&|[|;\n]")
_DRY = re.compile(r"(?:^|\s)(?:--dry-run(?:=\w+)?|--check|--help|-h|--version|-n)(?=\s|$)")
_DRY_PROGRAMS = frozenset({"git", "make", "ansible-playbook", "rsync"})
_PROSE = frozenset({".md", ".markdown", ".rst", ".txt", ".adoc"})
_LOOKING = re.compile(
    r"^\W*(?:answer|compare|count|describe|document|explain|find|go through|list|look|read|review|search|see|show|"
    r"summari[sz]e|tell|understand|what|where|which|who|why|how)\b",
    re.IGNORECASE,
)
_WORDING = re.compile(
    r"\b(?:comments?|docstrings?|wording|reword\w*|typos?|spelling|rename[sd]? (?:the )?(?:local|variable|test)|"
    r"type hints?|annotate \w+ as|type annotations?|__repr__|label|heading|whitespace|indentation|formatting)\b",
    re.IGNORECASE,
)


def is_harmless(action: Action) -> bool:
    """Tell whether an act only looks, only checks, or only changes words."""
    tool = action.tool.casefold()
    if tool in READING_TOOLS:
        return True
    if action.command:
        return not _NESTED.search(action.command) and all(
            _shows(part) for part in _SPLIT.split(action.command) if part.strip()
        )
    if action.path:
        return _is_prose(action.path) or bool(_WORDING.search(action.text))
    return bool(_LOOKING.match(action.text))


def _is_prose(path: str) -> bool:
    pure = PurePosixPath(path)
    return pure.suffix.casefold() in _PROSE or any(part in ("docs", "test", "tests") for part in pure.parts)


def _shows(command: str) -> bool:
    """Tell whether a simple command only shows or checks."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    words = [word for word in words if "=" not in word.split("-")[0] or word.startswith("-")]
    if not words:
        return True
    program = PurePosixPath(words[0]).name
    if program in ("sudo", "time", "nice", "xargs", "poetry", "npx", "uv") and len(words) > 1:
        return _shows(shlex.join(word for word in words[1:] if word != "run"))
    if program in _SQL_CLIENTS:
        return "-f" not in words and not _SQL.search(command)
    if program in READERS:
        return not _WRITES.search(command)
    if program in CHECKERS:
        return True
    if "--dry-run" in command or (program in _DRY_PROGRAMS and _DRY.search(command)):
        return True
    first, second = [*_subcommands(words[1:]), "", ""][:2]
    return first in SHOWING or (first in GROUPS and second in SHOWING)


def _subcommands(words: list[str]) -> list[str]:
    """Return the words that may be subcommands: the first two that are no options nor their values."""
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = "=" not in word and word in (
                "--context",
                "-n",
                "--namespace",
                "-C",
                "--chdir",
                "-x",
                "-f",
                "--kubeconfig",
            )
        else:
            found.append(word)
    return found[:2]
