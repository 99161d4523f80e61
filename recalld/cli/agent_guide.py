"""What an agent is told of the memory: when to ask it, how to read it, when to add to it. Pure."""

from __future__ import annotations

import re

DESCRIPTION = (
    "Project memory of decisions, incidents, lessons and rules. Use it before proposing a design, a dependency or a "
    "change of plan, before a risky command, when asked why something is as it is, and after something was learned the "
    "hard way."
)

_SIGNED = re.compile(r"\n<!-- recalld: by `recall agent install`, ([0-9a-f]{16}) -->\n\Z")


def guide() -> str:
    """Return the guide, as markdown."""
    from importlib.resources import files

    return (files("recalld") / "data/agent_guide.md").read_text("utf-8")


def skill() -> str:
    """Return Claude Code's ``SKILL.md``."""
    return signed(f"---\nname: recalld\ndescription: {DESCRIPTION}\n---\n\n{guide()}")


def rule() -> str:
    """Return Cursor's ``recalld.mdc``: it is read in every conversation."""
    return signed(f"---\ndescription: {DESCRIPTION}\nglobs:\nalwaysApply: true\n---\n\n{guide()}")


def signed(text: str) -> str:
    """Return a file of ours with a last line by which an edit can be seen."""
    return f"{text}\n<!-- recalld: by `recall agent install`, {_digest(text)} -->\n"


def is_untouched(text: str) -> bool:
    """Tell whether a file is one of ours, of whichever version, as it was written."""
    found = _SIGNED.search(text)
    return found is not None and found[1] == _digest(text[: found.start()])


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]
