"""``recall audit``, ``prune``, ``consolidate``, ``maintain`` and ``undo``: lessons that are looked after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

OfRepo = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="Only of this repo.")]
Apply = Annotated[bool, typer.Option("--apply", help="Put them away; a person's files are never touched.")]
Groups = Annotated[list[str] | None, typer.Option("--accept", metavar="GROUP", help="Merge this group, as shown.")]
Run = Annotated[str | None, typer.Argument(metavar="RUN", help="The run; without one, the newest are listed.")]

AUDIT_EXAMPLES = """
recall audit
recall audit --repo memory --json
"""
PRUNE_EXAMPLES = """
recall prune
recall prune --apply
"""
CONSOLIDATE_EXAMPLES = """
recall consolidate
recall consolidate --accept 3f2a9c1d
"""
MAINTAIN_EXAMPLES = """
recall maintain
recall maintain --json
"""
UNDO_EXAMPLES = """
recall undo
recall undo 20260601-1a2b3c4d
"""
SHOWN = 10
"""Files that are named; --json names all."""


async def audit(cli: Invocation, repo: OfRepo = None) -> int:
    """Say how rules, skills and lessons fare: never used, stale, doubled, waiting, and what is saved by showing few.

    Exit status 1 where something is stale, doubled or waits to be accepted.
    """
    async with cli.client() as client:
        reply = await client.audit(repo=repo)
    if cli.as_json:
        output.reply_json(reply)
    else:
        console = output.console(widest=110)
        for view in reply.repos:
            _show_audit(view, console)
    return 1 if any(view.stale or view.duplicates or view.proposed for view in reply.repos) else 0


async def prune(cli: Invocation, apply: Apply = False, repo: OfRepo = None) -> int:
    """Say which lessons may be put away, and why the others stay; with --apply, put them into the folder archive.

    Only lessons that the daemon wrote and nobody touched, that were never shown nor found nor learned again, are not
    pinned, and are older than lessons.grace_days. At most lessons.prune_cap a run; `recall undo` brings them back.
    """
    async with cli.client() as client:
        reply = await client.prune(repo=repo, apply=apply)
    if cli.as_json:
        output.reply_json(reply)
        return 0
    for view in reply.repos:
        word = "put away" if view.run else "may be put away"
        output.say(f"{view.repo}: {len(view.proposed)} lessons {word}, {len(view.kept)} stay")
        _list(view.proposed)
        _reasons(view.kept)
        if view.run:
            output.say(f"  `recall undo {view.run}` brings them back")
        elif view.proposed:
            output.say("  `recall prune --apply` does it")
    return 0


async def consolidate(cli: Invocation, accept: Groups = None, repo: OfRepo = None) -> int:
    """Show lessons that say the same, with the one that would take their place; --accept merges a group.

    Nothing that they say is lost, and `recall undo` brings the originals back.
    """
    async with cli.client() as client:
        reply = await client.consolidate(repo=repo, accept=tuple(accept or ()))
    if cli.as_json:
        output.reply_json(reply)
        return 0
    if not reply.groups:
        output.say("no two lessons say the same", dim=True)
    for group in reply.groups:
        _show_group(group)
    return 0


async def maintain(cli: Invocation, repo: OfRepo = None) -> int:
    """Run one pass now: audit, prune (proposed, unless lessons.auto_prune), duplicates, lint and verify.

    Exit status 1 where a step failed. The schedule does the same by itself: `recall jobs list`.
    """
    from recalld.bus.job_words import in_words

    async with cli.client() as client:
        reply = await client.maintain(repo=repo)
    if cli.as_json:
        output.reply_json(reply)
    else:
        for step in reply.steps:
            words = f"failed: {step.error}" if step.error else in_words(step.result)
            output.say(f"{step.name:12} {step.took_ms:7.0f} ms  {words}")
    return 1 if any(step.error for step in reply.steps) else 0


async def undo(cli: Invocation, run: Run = None, repo: OfRepo = None) -> int:
    """Bring back, byte for byte, what a run of prune, consolidate or a rejection moved; or list the newest runs."""
    async with cli.client() as client:
        reply = await client.undo(run=run, repo=repo)
    if cli.as_json:
        output.reply_json(reply)
    elif run is not None:
        output.say(f"{run} was undone:")
        _list(tuple(path for view in reply.runs for path, _ in view.moves))
    elif not reply.runs:
        output.say("there were no runs", dim=True)
    else:
        table = output.table("run", "what", "repo", "files", "when", "by", "undone")
        for view in reply.runs:
            when = output.local_time(view.at)
            undone = output.local_time(view.undone_at) if view.undone_at else ""
            table.add_row(view.id, view.kind, output.plain(view.repo), str(len(view.moves)), when, view.agent, undone)
        output.console().print(table)
    return 0


def _show_audit(view: wire.AuditView, console: Console) -> None:
    kinds = ", ".join(f"{count} {kind}s" for kind, count in sorted(view.files.items())) or "nothing that guides"
    console.print(f"[bold]{output.plain(view.repo)}[/]  {kinds}, {view.loaded_tokens:,} tokens if all were read")
    if view.saving is not None:
        shown = f"{view.surfaced_tokens:,} tokens shown in {view.surfacings} surfacings over {view.days:g} days"
        console.print(f"  {shown}: [green]{view.saving:.1%} less[/]")
    for word, paths in (("never used", view.never_used), ("wait to be accepted", view.proposed)):
        if paths:
            console.print(f"  {len(paths)} {word}")
            _list(paths)
    for one in view.stale:
        console.print(f"  [yellow]{one.verdict}[/] {output.plain(f'{one.path}: {one.reason}')}")
    for same in view.duplicates:
        console.print(f"  [yellow]the same[/] {output.plain(', '.join(same))}")


def _show_group(group: wire.GroupView) -> None:
    output.say(f"{group.id}  {group.repo}: {', '.join(group.paths)}")
    if group.run:
        output.say(f"  merged into {group.into}; `recall undo {group.run}` brings the others back")
    elif group.why_not:
        output.say(f"  not merged: {group.why_not}", dim=True)
    else:
        for line in group.diff.splitlines():
            output.say(f"  {line}")
        output.say(f"  `recall consolidate --accept {group.id}` merges them into {group.into}")


def _list(paths: tuple[str, ...]) -> None:
    for path in paths[:SHOWN]:
        output.say(f"    {path}")
    if len(paths) > SHOWN:
        output.say(f"    and {len(paths) - SHOWN} more", dim=True)


def _reasons(kept: tuple[wire.KeptView, ...]) -> None:
    counts: dict[str, int] = {}
    for one in kept:
        counts[one.reason] = counts.get(one.reason, 0) + 1
    for reason, count in sorted(counts.items(), key=lambda each: -each[1]):
        output.say(f"    {count} stay: {reason}", dim=True)
