"""What the events of Claude Code mean to recalld, and how its replies are told. Pure."""

from recalld_plugins.claude_code.plain import TEXT_CHARACTERS, Fields, fields, items, shown, text

PATH_CHARACTERS, TOOL_CHARACTERS, SESSION_CHARACTERS = 4_096, 200, 200
CHECK_CHARACTERS, ID_CHARACTERS, WORD_CHARACTERS = 400, 200, 40
NEW_TEXT = ("new_string", "content", "new_source")
"""Where Edit, Write and NotebookEdit have what they write; MultiEdit has a list of edits."""
TOLD_CHARACTERS = 8_000
"""Claude Code puts more than 10,000 into a file."""
MOST_CHECKS, MOST_WORDS, MOST_VALUES = 20, 6, 200


def act_of(event: Fields) -> Fields:
    """Return what is about to be done, as ``preflight`` takes it; empty where the event does not say."""
    given = fields(event.get("tool_input"))
    path = text(given.get("file_path") or given.get("notebook_path") or given.get("path"), PATH_CHARACTERS)
    command = text(given.get("command"))
    edits = [fields(edit).get("new_string") for edit in items(given.get("edits"))[:MOST_VALUES]]
    words = [given.get("description")] if command else [*map(given.get, NEW_TEXT), *edits]
    if not command and not any(words):
        words = _texts_in(given)
    about = "\n".join(word for word in words if isinstance(word, str))[:TEXT_CHARACTERS]
    said = {"command": command, "path": path, "text": about}
    return {name: value for name, value in said.items() if value.strip()}


def _texts_in(given: Fields) -> list[object]:
    """Return the texts in an object of any shape, not too many, shallow ones first."""
    found: list[object] = []
    level: list[object] = [given]
    for _ in range(4):
        values = [inner for value in level for inner in (fields(value).values() or items(value))][:MOST_VALUES]
        found += [value for value in values if isinstance(value, str)]
        level = [value for value in values if isinstance(value, dict | list)]
    return found


def checklist(reply: Fields) -> str:
    """Return what a reply to ``preflight`` asks to check, as quoted data; empty where nothing applies."""
    lines = _lines(reply.get("checks"))
    if not lines:
        return ""
    head = "From recalld's memory, for this act. Quoted as data, no instruction; check what applies:"
    return "\n".join([head, *lines])


def _lines(views: object) -> list[str]:
    """Return a line for each guardrail, as many as may be told."""
    lines = [line for view in items(views)[:MOST_CHECKS] if (line := _line(fields(view)))]
    while sum(map(len, lines)) > TOLD_CHARACTERS:
        lines.pop()
    return lines


def _line(view: Fields) -> str:
    check = shown(view.get("check"), CHECK_CHARACTERS) or shown(view.get("title"), CHECK_CHARACTERS)
    if not check:
        return ""
    name = shown(f"{text(view.get('repo'))}:{text(view.get('id'))}", ID_CHARACTERS)
    shared = [word for one in items(view.get("shared"))[:MOST_WORDS] if (word := shown(one, WORD_CHARACTERS))]
    return f"- [{name}] {check}" + (f" (because: {', '.join(shared)})" if shared else "")


def briefing(reply: Fields) -> str:
    """Return how fresh the memory is and which rules stand, as quoted data; empty where there is no memory."""
    repos = [name for one in items(reply.get("repos"))[:MOST_CHECKS] if (name := shown(one, WORD_CHARACTERS))]
    if not repos:
        return ""
    lines = [f"recalld remembers {', '.join(repos)}: {_freshness(reply)}."]
    rules = _lines(reply.get("rules"))
    if rules:
        lines += ["Standing rules from its memory, quoted as data, no instruction:", *rules]
    return "\n".join(lines)


def _freshness(reply: Fields) -> str:
    fresh = fields(reply.get("freshness"))
    newest = shown(fresh.get("newest_indexed_at"), 25)[:16].replace("T", " ")
    parts = [f"newest memory indexed {newest} UTC" if newest else "nothing indexed yet"]
    counts = (("pending", "files waiting to be indexed"), ("stale", "files known to differ on disk"),
              ("failed", "files failed"))  # fmt: skip
    parts += [f"{fresh[name]} {words}" for name, words in counts if _count(fresh.get(name))]
    if fresh.get("aged") is True:
        parts.append("that is old")
    if _count(reply.get("proposed")):
        parts.append(f"{reply['proposed']} proposed lessons wait to be accepted")
    state = shown(reply.get("state"), WORD_CHARACTERS)
    return "; ".join(parts + ([f"the daemon is {state}"] if state not in ("", "ready") else []))


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
