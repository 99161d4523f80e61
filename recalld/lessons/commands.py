"""What a shell command does, as far as its words tell: whether it only shows, only checks, or may change something."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

READERS = frozenset(
    """
    awk basename bat cat cd cmp column comm curl cut date df diff dig dirname du echo egrep exit export fd fgrep
    file find free grep head history hostname id jq less ls lsof man md5sum more nl nproc nslookup pgrep ping printenv
    printf ps pwd realpath rg sed sha256sum shasum sleep sort stat strings tac tail test top tr tree true type uname
    uniq uptime wc which whoami xxd yq zcat
    """.split()  # noqa: SIM905
)
"""Programs that show; options that make them write are looked for."""
MAKERS = frozenset({"mkdir", "touch"})
"""Programs that make what was not there, and nothing else."""
CHECKERS = frozenset(
    """
    bandit black coverage eslint flake8 isort jest mypy prettier pydocstyle pylint pyright pytest ruff stylelint tox tsc
    vitest
    """.split()  # noqa: SIM905
)
"""Programs that test, check or format a working copy."""
SHOWING = frozenset(
    """
    api-resources blame check cluster-info compile current describe diff events explain fetch fmt get graph heads help
    history images info inspect lint list log logs ls outdated output plan ps search show stat stats status tags
    test tests top validate version view whoami
    """.split()  # noqa: SIM905
)
"""Subcommands that show, of programs that have some: ``git log``, ``kubectl get``, ``terraform plan``."""
_SHOWING_STARTS = ("list-", "show-", "describe-", "get-")
GROUPS = frozenset(
    """
    cache config container context image issue job network node package pod pr release repo rollout run secret stash
    state system volume workflow workspace worktree
    """.split()  # noqa: SIM905
)
"""Subcommands that have subcommands of their own: ``docker image ls``, ``terraform state list``."""
ACTING = frozenset(
    """
    add apply attach clone commit copy cp create delete deploy destroy disable drain drop edit enable exec expose
    force-unlock import install kill merge move mv patch post promote publish purge push put reboot rebase remove
    rename replace reset restart restore resume rm rollback rollout rotate run scale send set start stop submit sync
    taint trigger truncate uninstall unlock update upgrade upload
    """.split()  # noqa: SIM905
)
"""Subcommands that change something, whatever stands beside them."""
CARRIERS = frozenset({"sudo", "time", "nice", "xargs", "poetry", "npx", "uv"})
"""Programs that run the one that is named behind them."""
MODULES = frozenset({"http.server", "json.tool", "timeit", "pydoc", "doctest", "unittest", "compileall", "venv"})
"""Modules that ``python -m`` runs without harm; so it does the programs that only check."""
_WRITES = re.compile(
    r"\s(?:-i\b|--in-place|-delete\b|-exec\b|-X\s*(?:POST|PUT|PATCH|DELETE)|-d\b|--data|-T\b|-o\s)|(?<![0-9&])>(?!&|\s*/dev/null)"
)
_SQL = re.compile(
    r"\b(?:alter|call|cluster|copy|create|delete|drop|grant|insert|lock|merge|reindex|revoke|set|truncate|update|vacuum)\b",
    re.IGNORECASE,
)
_SQL_CLIENTS = frozenset({"psql", "sqlite3", "mysql", "pgcli"})
_WITH_VALUE = frozenset(("--context", "-n", "--namespace", "-C", "--chdir", "-x", "-f", "--kubeconfig"))
_CHANGES = frozenset(("-d", "-D", "--delete", "-m", "-M", "--move", "-f", "--force", "-c", "-C", "-u", "-a", "-s"))
"""Options with which ``git branch`` and ``git tag`` do more than list."""
_LISTING = frozenset(("--merged", "--no-merged", "--contains", "--list", "-l", "-a", "-r", "-v", "-vv"))
_NEW_BRANCH = frozenset(("-b", "-c", "--create"))
_ABOUT = frozenset(("--version", "--help", "-V", "-h"))
_NESTED = re.compile(r"\$\(|`|<\(|>\(")
"""A command in a command: what it does is not looked at."""
_SPLIT = re.compile(r"\|\||&&|[|;\n]")
_DRY = re.compile(r"(?:^|\s)(?:--dry-run(?:=\w+)?|--check|--help|-h|--version|-[a-zA-Z]*n[a-zA-Z]*)(?=\s|$)")
_TRIAL = re.compile(r"(?:^|\s)--dry-?run(?:[=\s]|$)")
_EXPECTING = re.compile(r"--?(?:update|accept|write|overwrite)|-u$")
_DRY_PROGRAMS = frozenset({"git", "make", "ansible-playbook", "rsync"})


def only_shows(line: str) -> bool:
    """Tell whether every command of a line only shows or checks. One that holds another in itself may do anything."""
    return not _NESTED.search(line) and all(_shows(part) for part in _SPLIT.split(line) if part.strip())


def _shows(command: str) -> bool:
    """Tell whether a simple command only shows or checks."""
    words = _words(command)
    if not words:
        return True
    program = PurePosixPath(words[0]).name
    if program in CARRIERS and len(words) > 1:
        return _shows(shlex.join(word for word in words[1:] if word != "run"))
    if program.startswith("python") and words[1:2] == ["-m"] and len(words) > 2:
        return words[2] in MODULES or words[2] in CHECKERS
    return _program_shows(program, words, command)


def _words(command: str) -> list[str]:
    """Return a command's words without the variables that are set for it."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    return [word for word in words if "=" not in word.split("-")[0] or word.startswith("-")]


def _program_shows(program: str, words: list[str], command: str) -> bool:
    if program in _SQL_CLIENTS:
        return "-f" not in words and not _SQL.search(command)
    if program in ACTING:
        return False
    if _is_trial(program, words, command):
        return True
    if program in MAKERS or (len(words) > 1 and _ABOUT.issuperset(words[1:])):
        return True
    if program in READERS:
        return not _WRITES.search(command)
    if program in CHECKERS:
        return not _rewrites(words[1:])
    return _asks(_subcommands(words[1:]), words[1:])


def _is_trial(program: str, words: list[str], command: str) -> bool:
    """Tell whether a command only says what it would do."""
    if _TRIAL.search(command):
        return True
    return program in _DRY_PROGRAMS and bool(_DRY.search(command))


def _rewrites(words: list[str]) -> bool:
    """Tell whether a checker is told to put right what it finds: a fix of code is none, new expectations are."""
    return any(_EXPECTING.match(word) for word in words)


def _asks(named: list[str], options: list[str]) -> bool:
    """Tell whether subcommands only ask: the first does, or one behind a group, or one behind an option's value."""
    first, second = [*named, "", ""][:2]
    if "test" in named and _rewrites(options):
        return False
    if first in SHOWING or (first in GROUPS and second in SHOWING):
        return True
    if first in ("branch", "tag"):
        return bool(_LISTING.intersection(options)) or (len(named) == 1 and not _CHANGES.intersection(options))
    if first in ("checkout", "switch"):
        return bool(_NEW_BRANCH.intersection(options))
    asks = any(word in SHOWING or word.startswith(_SHOWING_STARTS) for word in named)
    return asks and not ACTING.intersection(named)


def _subcommands(words: list[str]) -> list[str]:
    """Return the words that may be subcommands: the first three that are no options nor values of known ones."""
    found: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _WITH_VALUE
        else:
            found.append(word)
    return found[:3]
