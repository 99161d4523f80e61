"""Reads a shell command as far as it takes to say which programs it runs. Pure; a guess, never an error."""

import re
import shlex

PROGRAM_CHARACTERS = 60
INTERPRETERS = re.compile(r"python[\d.]*|pypy[\d.]*|bash|deno|node|perl|php|ruby|sh|zsh")
_GROUPING = frozenset(
    """
    ansible apt apt-get aws az brew bundle cargo docker gcloud gh git go helm kubectl make npm pip pip3 pnpm podman
    poetry recall systemctl terraform tofu uv yarn
    """.split()  # noqa: SIM905
)
"""Programs whose first word says what they do."""
_WRAPPING = frozenset("bunx command env exec nice nohup npx pnpx sudo time timeout uvx xargs".split())  # noqa: SIM905
_WITH_VALUE = {"sudo": ("-u", "-g", "--user"), "nice": ("-n",), "timeout": ("-k", "-s"), "xargs": ("-n", "-I", "-P")}
_RUNNING = frozenset("bun hatch pdm pipenv pnpm poetry rye uv yarn".split())  # noqa: SIM905
"""Programs that run another one by their word ``run`` or ``exec``."""
_SCRIPTS = frozenset({"build", "check", "deploy", "dev", "lint", "migrate", "release", "start", "test", "typecheck"})
"""What follows ``yarn run`` and is no program."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"\d[\d.]*[smhd]?")
_NAME = re.compile(r"[\w@./:+-]+")
_BETWEEN = re.compile(r"[;&|()]+")


def simple_commands(command: str) -> list[list[str]]:
    """Return the words of each simple command, wrappers and assignments left out; a here-document is not read."""
    lexer = shlex.shlex(command.split("<<")[0].replace("\n", " ; "), posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that does not end
        words = command.split()
    parts: list[list[str]] = [[]]
    for word in words:
        if _BETWEEN.fullmatch(word):
            parts.append([])
        else:
            parts[-1].append(word)
    return [bare for part in parts if (bare := _unwrapped(part))]


def program_of(words: list[str]) -> str:
    """Return the program that a simple command runs, with the word that says what it does."""
    program = words[0]
    named = [word.rsplit("/", 1)[-1] for word in plain_words(words)[1:2] if _NAME.fullmatch(word)]
    if is_inline(words) or not (program in _GROUPING or INTERPRETERS.fullmatch(program)):
        named = []
    return " ".join([program, *named])[:PROGRAM_CHARACTERS]


def plain_words(words: list[str]) -> list[str]:
    """Return the words that are no options; ``python -m x`` is ``python x``."""
    return [word for word in words if not word.startswith("-")]


def is_inline(words: list[str]) -> bool:
    """Tell whether an interpreter is given code instead of a file."""
    return bool(INTERPRETERS.fullmatch(words[0])) and ("-c" in words or "-e" in words or len(plain_words(words)) == 1)


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        program = words[0].rsplit("/", 1)[-1]
        if not program.strip() or _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif program in _WRAPPING and len(words) > 1:
            words = words[1:]
            while words and (words[0].startswith("-") or (program == "timeout" and _DURATION.fullmatch(words[0]))):
                words = words[2:] if words[0] in _WITH_VALUE.get(program, ()) else words[1:]
        elif program in _RUNNING and words[1:2] in (["run"], ["exec"]) and not _SCRIPTS.intersection(words[2:3]):
            words = words[2:]
        else:
            return [program, *words[1:]]
    return []
