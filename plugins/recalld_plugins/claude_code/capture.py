"""Makes a proposed lesson of a tool call that failed, where there is something to learn from it. Pure.

Left out is what tells nothing of how to work: what a person stopped or refused, programs that are not there, programs
that look or compare, code written for the moment (``python -c``), runs of tests and checks, and failures without words.
"""

import re

from recalld_plugins.claude_code.commands import is_inline, plain_words, program_of, simple_commands
from recalld_plugins.claude_code.masking import masked
from recalld_plugins.claude_code.plain import Fields, fields, text

COMMAND_CHARACTERS, ERROR_CHARACTERS, LINE_CHARACTERS, TITLE_CHARACTERS = 1_000, 1_500, 160, 140
EVENT_CHARACTERS, READ_CHARACTERS = 4 << 20, 4_096
"""What an output can have, and so much of it is looked at, half of that at its end."""
NO_PROGRAM, INTERRUPTED = 127, 130
LOOKING = frozenset(
    """
    [ [[ ack ag awk cat cd cmp command diff du egrep false fd fgrep file find grep head jq less ls more pgrep ping pwd
    readlink rg sed sort stat tail test tree type wc which
    """.split()  # noqa: SIM905
)
TESTING = frozenset(
    """
    bandit behave check clippy coverage ctest cypress eslint flake8 jest karma lint mocha mypy nextest nosetests nox
    phpunit playwright pre-commit py.test pylint pyright pytest rspec ruff shellcheck stylelint test tests tox tsc
    typecheck unittest vet vitest
    """.split()  # noqa: SIM905
)
"""Programs, modules and subcommands that test or check."""
GIT_ANSWERS = frozenset({"check-ignore", "diff", "grep", "merge-base", "show-ref"})
PASSIVE = frozenset({"echo", "printf", "tee", "true"})
"""What stands beside the program that fails."""
_STATUS = re.compile(
    r"\s{0,9}(?:Error: )?(?:Exit code|Command (?:failed|exited) with (?:exit |non-zero )?(?:code|status)(?: code)?)"
    r"[: ]{1,3}(\d{1,5})\s{0,9}"
)
_REFUSED = re.compile(
    r"interrupted by user|user doesn't want to|permission to use \S{1,80} .{0,200}denied|requires? approval"
    r"|hook .{0,80}(?:blocked|denied)|(?:blocked|denied) by .{0,40}hook",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"\berror\b|\berr!|\bfatal\b|\bfail(?:ed|ure)\b|exception|denied|cannot|can't|could not|refused|rejected|not found"
    r"|no such|timed? ?out|invalid|unable|unknown|missing|conflict",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")


class Failure:
    """A tool call that failed: its tool, its command, the exit status where it is known, and what was said."""

    def __init__(self, tool: str, command: str, status: int | None, output: str) -> None:
        self.tool = tool
        self.command = command
        self.status = status
        self.output = output
        self.parts = simple_commands(command)
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        telling = [line for line in lines if _TELLING.search(line)]
        self.line = next(iter(telling or lines), "")
        """The line that tells most: a traceback's last, else the first that speaks of an error."""
        if "Traceback (most recent call last)" in output:
            self.line = lines[-1]
        said = self.line.casefold() if telling else ""
        self.named = [words for words in self.parts if re.search(rf"\b{re.escape(words[0].casefold())}\b", said)]
        """The simple commands whose program that line names, first the ones whose next word it names, too."""
        self.named.sort(key=lambda words: not any(word.casefold() in said for word in plain_words(words)[1:2]))

    @property
    def culprit(self) -> list[str]:
        """The words of the simple command that most likely failed; empty where there is no command."""
        acting = [words for words in self.parts if words[0] not in PASSIVE]
        return next(iter(self.named or acting[-1:] or self.parts[-1:]), [])

    @property
    def program(self) -> str:
        """What is to be thought about before it is run again."""
        return program_of(self.culprit) if self.culprit else self.tool


def lesson_of(event: Fields, failed: bool, home: str = "") -> Fields:
    """Return a proposed lesson as ``learn`` takes it; empty where nothing failed or nothing can be learned.

    ``failed``: the event is one of failures only. ``home`` is the user's directory, which is left out of what is kept.
    """
    failure = failure_of(event, failed, home)
    if failure is None or is_trivial(failure):
        return {}
    program, line = failure.program, failure.line[:LINE_CHARACTERS]
    status = "failed" if failure.status is None else f"ended with status {failure.status}"
    command, said = _quoted(failure.command, COMMAND_CHARACTERS), _quoted(failure.output, ERROR_CHARACTERS)
    ran = f"The command:\n\n{command}\n\n" if command else ""
    return {
        "title": f"{program}: {line}"[:TITLE_CHARACTERS],
        "body": f"{program} {status}.\n\n{ran}What it said:\n\n{said}\n",
        "check": f'Before running {program} again: is the cause of "{line}" gone?',
        "tags": ["failure", program.split()[0]],
        "trigger": program,
        "proposed": True,
    }


def failure_of(event: Fields, failed: bool, home: str = "") -> Failure | None:
    """Return how the event's tool call failed, secrets masked; None where it did not, or a person stopped it."""
    response, given = fields(event.get("tool_response")), fields(event.get("tool_input"))
    if True in (event.get("is_interrupt"), response.get("interrupted"), response.get("is_interrupt")):
        return None
    output = _said(event, response)
    status = next((value for name in ("exit_code", "exitCode") if type(value := response.get(name)) is int), None)
    if found := _STATUS.match(output):
        status, output = int(found[1]), output[found.end() :]
    if not (failed or status or True in (response.get("is_error"), response.get("isError"))):
        return None
    places = [(place.rstrip("/"), sign) for place, sign in ((text(event.get("cwd")), "."), (home, "~"))]
    command = _shortened(text(given.get("command"), EVENT_CHARACTERS), READ_CHARACTERS)
    tool = " ".join(_clean(text(event.get("tool_name"), 60), places).split())
    return Failure(tool or "tool", _clean(command, places).strip(), status, _clean(output, places).strip("\n"))


def _said(event: Fields, response: Fields) -> str:
    """Return what the tool said, wherever it stands."""
    whole = text(event.get("error"), EVENT_CHARACTERS) or text(event.get("tool_response"), EVENT_CHARACTERS)
    parts = (text(response.get(name), EVENT_CHARACTERS) for name in ("error", "stderr", "stdout"))
    return _shortened(whole or "\n".join(part for part in parts if part), READ_CHARACTERS)


def _shortened(said: str, limit: int) -> str:
    """Return begin and end of a text that is too long.

    Cut before a word, and after a line: half a secret, or one without what names it, would be known for none.
    """
    if len(said) <= limit:
        return said
    begin, end = re.sub(r"(?<!\S)\S+\Z", "", said[: limit // 2]), said[-limit // 2 :].partition("\n")[2]
    return f"{begin.rstrip()}\n...\n{end}"


def _clean(value: str, places: list[tuple[str, str]]) -> str:
    """Return text without escapes, controls, secrets and the user's own directories."""
    value = masked(_CONTROL.sub(" ", _ESCAPES.sub("", value.replace("\r\n", "\n"))))
    for place, sign in places:
        if place.count("/") > 1:
            value = re.sub(rf"{re.escape(place)}(?![\w.-])", sign, value)
    return value


def is_trivial(failure: Failure) -> bool:
    """Tell whether a failure says nothing of how to work."""
    if not failure.line or failure.status in (NO_PROGRAM, INTERRUPTED) or _REFUSED.search(failure.output[:1_000]):
        return True
    if re.search(r"command not found|: not found\Z", failure.line):
        return True
    if any(_tests(words) for words in failure.named or failure.parts):
        return True
    words = failure.culprit
    if not words:
        return bool(failure.command)
    return words[0] in LOOKING or is_inline(words) or (words[0] == "git" and bool(GIT_ANSWERS & set(words[1:2])))


def _tests(words: list[str]) -> bool:
    first, second, third, *_ = [*(word.split(":")[0] for word in plain_words(words)), "", "", ""]
    runs = second in ("run", "exec", "manage.py")
    return first in TESTING or second in TESTING or (runs and third in TESTING)


def _quoted(said: str, limit: int) -> str:
    """Return text, shortened, as an indented block of markdown, which nothing in it can end."""
    return "\n".join(f"    {line}".rstrip() for line in _shortened(said, limit).strip("\n").splitlines())
