"""``recall stats`` and ``recall health``: what is indexed, and whether the daemon is well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rich.console import Console
    from rich.table import Table

    from recalld.bus import wire

RepoName = Annotated[str | None, typer.Option("--repo", metavar="NAME", help="Only this repo.")]
Findings = Annotated[int, typer.Option(metavar="N", min=0, max=1_000, help="How many findings at most.")]

STATS_EXAMPLES = """
recall stats
recall stats --repo memory --findings 100 --json
"""
HEALTH_EXAMPLES = "recall health --json"


async def stats(cli: Invocation, repo: RepoName = None, findings: Findings = 20) -> int:
    """Show what is indexed, how fresh it is, and which files have faults."""
    async with cli.client() as client:
        reply = await client.stats(repo=repo, findings=findings)
    if cli.as_json:
        output.reply_json(reply)
    else:
        show_stats(reply, output.console())
    return 0


async def health(cli: Invocation) -> int:
    """Ask whether the daemon can answer, and on what it depends. Exit status 1 when something has failed."""
    async with cli.client() as client:
        reply = await client.health()
    if cli.as_json:
        output.reply_json(reply)
    else:
        show_health(reply, output.console())
    return 1 if reply.state == "degraded" else 0


def show_health(reply: wire.HealthReply, console: Console) -> None:
    """Print one node's health."""
    up = output.age(reply.started_at, output.utc_now()).removesuffix(" ago")
    console.print(
        f"[bold]{output.plain(reply.node)}[/] is {output.styled(reply.state)}: recalld {reply.version}, "
        f"{', '.join(reply.roles)}, up {up}, {output.size(reply.rss_bytes)} of memory"
    )
    show_checks(reply.checks, console)


def show_checks(checks: Iterable[wire.Check], console: Console) -> None:
    """Print checks, each with what to do about it where something is wrong."""
    table = output.table("check", "status", "detail", "ms", numbers=("ms",))
    for check in checks:
        advice = f"\n[dim]{output.plain(check.suggestion)}[/]" if check.suggestion and check.status != "ok" else ""
        took = f"{check.took_ms:.0f}" if check.took_ms is not None else ""
        table.add_row(check.name, output.styled(check.status), output.plain(check.detail) + advice, took)
    console.print(table)


def show_stats(reply: wire.StatsReply, console: Console) -> None:
    """Print what is indexed."""
    now = output.utc_now()
    if not reply.repos:
        console.print("no repo yet: `recall repo add PATH` adds one")
    else:
        console.print(_repos(reply.repos, now))
    console.print(_generations(reply.generations))
    console.print(output.freshness_line(reply.freshness, now))
    console.print(
        f"[dim]database {output.size(reply.database_bytes)}, {reply.cached_embeddings:,} cached embeddings[/]"
    )
    if reply.findings:
        console.print(_findings(reply.findings))


def _repos(repos: Iterable[wire.RepoStats], now: datetime) -> Table:
    table = output.table(
        "repo", "state", "memos", "passages", "newest", "last scan", "place", numbers=("memos", "passages")
    )
    for repo in repos:
        left_out = [
            f"{number} {what}"
            for number, what in ((repo.skipped, "skipped"), (repo.failed, "failed"), (repo.forgotten, "forgotten"))
            if number
        ]
        notes = f"\n[dim]{', '.join(left_out)}[/]" if left_out else ""
        table.add_row(
            repo.name,
            output.plain(repo.state),
            str(repo.documents),
            str(repo.chunks),
            output.age(repo.newest_indexed_at, now),
            output.age(repo.last_scan_at, now),
            output.plain(f"{repo.path} ({repo.node})") + notes,
        )
    return table


def _generations(generations: Iterable[wire.GenerationStats]) -> Table:
    table = output.table("generation", "state", "embedder", "documents", numbers=("documents",))
    for generation in generations:
        built = f"{generation.documents}/{generation.total}"
        table.add_row(str(generation.id), generation.state, output.plain(generation.embedder), built)
    return table


def _findings(findings: Iterable[wire.FindingView]) -> Table:
    table = output.table("finding", "where", "what")
    for finding in findings:
        line = f":{finding.line}" if finding.line else ""
        hint = f"\n[dim]{output.plain(finding.hint)}[/]" if finding.hint else ""
        table.add_row(
            output.styled(finding.severity) + f"\n[dim]{output.plain(finding.code)}[/]",
            output.plain(f"{finding.repo}:{finding.path}{line}"),
            output.plain(finding.message) + hint,
        )
    return table
