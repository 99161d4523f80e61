"""What the tools of lessons answer, in words; what files say is quoted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from recalld.bus import wire
from recalld_plugins.mcp.quoting import name, place, quoted


def learn(reply: wire.LearnReply) -> str:
    """Tell where the lesson stands."""
    where = f"{place(reply.repo, reply.path)}, id {name(reply.id)}"
    if reply.action == "recurred":
        return f"The memory had this lesson already, at {where}: seen {reply.seen_count} times now."
    waits = " It is silent until somebody accepts it." if reply.status == "proposed" else ""
    return f"Written to {where}.{waits}"


def mark(reply: wire.MarkReply) -> str:
    """Tell what was counted."""
    return f"Counted: {place(reply.repo, reply.id)} helped {reply.helped} times, failed {reply.failed} times."


def audit(reply: wire.AuditReply) -> str:
    """Tell how each repo's rules, skills and lessons fare."""
    return "\n\n".join("\n".join(_audited(view)) for view in reply.repos) or "There is no repo."


def _audited(view: wire.AuditView) -> Iterator[str]:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(view.files.items())) or "none"
    yield f"{name(view.repo)}: {kinds}; {view.loaded_tokens} tokens if all were read."
    if view.saving is not None:
        yield f"Shown were {view.surfaced_tokens} tokens in {view.surfacings} surfacings: {view.saving:.1%} less."
    yield from _named("Never used", view.never_used)
    yield from _named("Waiting to be accepted", view.proposed)
    yield from _named("No longer holds", (f"{one.path} ({one.verdict}: {one.reason})" for one in view.stale))
    yield from _named("The same", (", ".join(paths) for paths in view.duplicates))


def prune(reply: wire.PruneReply) -> str:
    """Tell what may go or went, and why the rest stays."""
    return "\n\n".join("\n".join(_pruned(view)) for view in reply.repos) or "There is no repo."


def _pruned(view: wire.PruneView) -> Iterator[str]:
    verb = f"were put away in run {name(view.run)}" if view.run else "may be put away"
    yield f"{name(view.repo)}: {len(view.proposed)} lessons {verb}, {len(view.kept)} stay."
    yield from _named("Gone" if view.run else "May go", view.proposed)
    yield from _named("Stays", (f"{one.path}: {one.reason}" for one in view.kept))


def consolidate(reply: wire.ConsolidateReply) -> str:
    """Tell the groups with their diffs, or what was merged."""
    return "\n\n".join("\n".join(_group(group)) for group in reply.groups) or "No two lessons say the same."


def _group(group: wire.GroupView) -> Iterator[str]:
    yield f"Group {group.id} in {name(group.repo)}: {', '.join(map(name, group.paths))}"
    if group.run:
        yield f"Merged into {name(group.into)} in run {name(group.run)}."
    elif group.why_not:
        yield f"Not to be merged here: {name(group.why_not)}."
    else:
        yield f"Would become {name(group.into)}:"
        yield quoted(group.diff)


def maintain(reply: wire.MaintainReply) -> str:
    """Tell of each step whether it was done."""
    lines = (f"{name(step.name)}: {f'failed, {name(step.error)}' if step.error else 'done'}" for step in reply.steps)
    return "\n".join(lines)


def _named(word: str, values: Iterable[str]) -> Iterator[str]:
    yield from (f"- {word}: {name(value)}" for value in values)
