"""Asks recalld on behalf of Claude Code, and never stands in its way.

    python -I -S hook.py PreToolUse | SessionStart | PostToolUse | PostToolUseFailure  < the event as JSON

    --server URL      the NATS server, as nats://host:4222
    --state-dir DIR   the daemon's state directory, where its credentials lie
    --agent NAME      who is asking (claude-code)
    --repo NAME       ask, and learn, in this repo only
    --budget-ms N     end after so long, whatever happens (300 before a tool, else 1000)
    --capture         make a proposed lesson of a failure
    --debug           tell on stderr why nothing was printed; $RECALL_HOOK_DEBUG does the same

Whatever happens the exit status is 0, and without something to tell nothing is printed.

It runs before every tool call, so it and its neighbours import what the interpreter has built in, and nothing else
(``os`` would cost 1.7 ms of 14). The neighbours are modules of their own because Python keeps those compiled; the file
that it is started with is compiled anew each time.
"""

import posix
import sys
import time
from _thread import start_new_thread

if __name__ == "__main__":  # -I -S: nothing but the standard library is found
    sys.path.append(__file__.rsplit("/", 3)[0])

from recalld_plugins.claude_code.bus import LINE_BYTES, Server, ask
from recalld_plugins.claude_code.events import (
    PATH_CHARACTERS,
    SESSION_CHARACTERS,
    TOOL_CHARACTERS,
    act_of,
    briefing,
    checklist,
)
from recalld_plugins.claude_code.plain import Fields, items, read, read_object, shown, text, write

AGENT = "claude-code"
BUDGET_MS = {"PreToolUse": 300}
OTHER_BUDGET_MS = 1_000
EVENT_BYTES = 4 << 20
"""A larger event is not looked at."""
CREDENTIALS = "credentials/client.json"


class Options:
    """What the command line says. Raises ValueError for what it cannot mean."""

    def __init__(self, arguments: list[str]) -> None:
        self.event = ""
        self.capture = False
        values = {"--server": "", "--state-dir": "", "--repo": "", "--budget-ms": "0",
                  "--agent": environment("RECALLD_BUS__AGENT") or AGENT}  # fmt: skip
        rest = iter(arguments)
        for argument in rest:
            name, equals, value = argument.partition("=")
            if name in values:
                values[name] = value if equals else next(rest, "")
            elif name == "--capture":
                self.capture = True
            elif not name.startswith("-"):
                self.event = argument
            elif name != "--debug":
                raise ValueError(f"there is no option {name}")
        self.server, self.state_dir, self.repo = values["--server"], values["--state-dir"], values["--repo"]
        self.agent = values["--agent"]
        if not self.agent.isascii() or not self.agent.replace("-", "").replace("_", "").isalnum():
            raise ValueError(f"{self.agent!r} is not an agent name")
        budget_ms = int(values["--budget-ms"]) or BUDGET_MS.get(self.event, OTHER_BUDGET_MS)
        self.budget_s = max(1, budget_ms) / 1_000


def environment(name: str) -> str:
    """Return a variable of the environment, empty where it is not set."""
    return posix.environ.get(name.encode(), b"").decode("utf-8", "surrogateescape")


def servers(options: Options) -> list[Server]:
    """Return where the daemon may be: the first place that is named is the one that counts.

    Raises ValueError, OSError, and LookupError where no daemon has left its credentials.
    """
    named = (options.server or environment("RECALLD_BUS__SERVERS")).strip()
    if named:
        urls = items(read(named.encode())) if named.startswith("[") else list(named.split(","))
        login = environment("RECALLD_BUS__USER"), environment("RECALLD_BUS__PASSWORD")
        return [Server(url, *login) for url in urls if isinstance(url, str) and url.strip()]
    for place in _state_dirs(options):
        try:
            with open(f"{place}/{CREDENTIALS}", "rb") as file:
                return [Server(text(read_object(file.read(LINE_BYTES)).get("url")))]
        except FileNotFoundError:
            continue
    raise LookupError("no daemon has left its credentials")


def _state_dirs(options: Options) -> list[str]:
    home = environment("HOME")
    named = options.state_dir or environment("RECALLD_NODE__STATE_DIR")
    if named:
        return [home + named[1:] if named.startswith("~/") else named]
    if xdg := environment("XDG_STATE_HOME"):
        return [f"{xdg}/recalld"]
    return [f"{home}/.local/state/recalld", f"{home}/Library/Application Support/recalld"]


def read_event() -> Fields:
    """Return the event on stdin. Raises ValueError for one that is too large, once its writer has written it all."""
    parts, size = [], 0
    while part := posix.read(0, 1 << 16):
        size += len(part)
        if size <= EVENT_BYTES:
            parts.append(part)
    if size > EVENT_BYTES:
        raise ValueError(f"the event has {size} bytes")
    return read_object(b"".join(parts))


def told(options: Options, until: float) -> str:
    """Return what is to be told of the event on stdin, empty for nothing."""
    event = read_event()
    common: Fields = {"cwd": text(event.get("cwd"), PATH_CHARACTERS), "deadline_ms": _ms(until)}
    if options.repo:
        common["repo"] = [options.repo]
    if options.event == "PreToolUse":
        act = act_of(event)
        if not act:
            raise LookupError("the event does not say what is about to be done")
        act["tool"] = text(event.get("tool_name"), TOOL_CHARACTERS)
        act["session"] = text(event.get("session_id"), SESSION_CHARACTERS)
        return checklist(_asked(options, "preflight", {**common, **act}, until))
    if options.event == "SessionStart":
        return briefing(_asked(options, "brief", common, until))
    if options.event in ("PostToolUse", "PostToolUseFailure") and options.capture:
        _capture(options, event, until)
        return ""
    raise LookupError(f"nothing is done on {options.event or 'no event'}")


def _capture(options: Options, event: Fields, until: float) -> None:
    from recalld_plugins.claude_code.capture import lesson_of

    lesson = lesson_of(event, options.event == "PostToolUseFailure", environment("HOME"))
    if not lesson:
        raise LookupError("there is nothing to learn from that")
    _asked(options, "learn", {**lesson, "repo": options.repo or None}, until)


def _asked(options: Options, verb: str, request: Fields, until: float) -> Fields:
    failure: Exception = ValueError("no server is named")
    for server in servers(options):
        try:
            return ask(server, options.agent, verb, request, until)
        except OSError as error:
            failure = error
    raise failure


def _ms(until: float) -> int:
    return max(1, int((until - time.monotonic()) * 1_000))


def main(arguments: list[str]) -> None:
    """Tell what is to be told, and end the process with status 0 before its time is up."""
    begun = time.monotonic()
    debug = "--debug" in arguments or bool(environment("RECALL_HOOK_DEBUG"))
    try:
        posix.fstat(1)  # where it is closed, the connection would get its number, and what is told
        options = Options(arguments)
        start_new_thread(_end_after, (options.budget_s, debug))
        words = told(options, begun + 0.95 * options.budget_s)
        if words:
            answer = {"hookEventName": options.event, "additionalContext": words}
            _write(1, write({"hookSpecificOutput": answer}) + b"\n")
    except BaseException as error:
        _note(debug, f"{type(error).__name__}: {error}")
    posix._exit(0)


def _end_after(seconds: float, debug: bool) -> None:
    """End the process, from a thread of its own: nothing that waits, and no name server, can hold it back."""
    time.sleep(seconds)
    _note(debug, "the time is up")
    posix._exit(0)


def _note(debug: bool, words: str) -> None:
    try:
        if debug:
            _write(2, f"recalld hook: {shown(words, 1_000)}\n".encode("utf-8", "replace"))
    except OSError:
        return


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[posix.write(descriptor, data) :]


if __name__ == "__main__":
    if "--help" in sys.argv or "-h" in sys.argv:
        _write(1, (__doc__ or "").encode())
        sys.exit()
    main(sys.argv[1:])
