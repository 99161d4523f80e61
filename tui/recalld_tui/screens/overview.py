"""Overview: healthy or not, why, and how the work goes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.containers import Container, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from recalld.bus import wire
from recalld_tui.model.health import Level, nodes
from recalld_tui.model.text import age, ahead, bar, clean, counted, cut, line, milliseconds, size, span, spark
from recalld_tui.screens.page import Page

PANELS = {
    "repos": "Repos",
    "checks": "Dependencies",
    "ingest": "Indexing",
    "searching": "Searches",
    "work": "Jobs",
    "index": "Index",
    "nodes": "Nodes",
}
NEXT_JOBS = 7
COMMIT = 8


class Overview(Page):
    """Everything at a glance."""

    NAME = "overview"
    TOPICS = ()
    EVERY_S: ClassVar[float] = 3600.0

    def body(self) -> Iterable[Widget]:
        """Lay out the panels."""
        with VerticalScroll(id="list"):
            yield Static(id="verdict", markup=False)
            with Container(id="panels"):
                yield from self._panels()

    def _panels(self) -> Iterable[Widget]:
        for name, title in PANELS.items():
            panel = Static(id=name, markup=False, classes="panel")
            panel.border_title = title
            yield panel

    def happened(self, events: list[wire.Event]) -> None:
        """Show events in the rates at once."""
        self._ingest()

    def draw(self) -> None:
        """Show what is known."""
        self._verdict()
        self._repos()
        self._checks()
        self._ingest()
        self._searching()
        self._work()
        self._index()
        self._who()

    def _verdict(self) -> None:
        status, inks = self.dashboard.status, self.inks
        diagnosis, health = status.diagnosis, status.health
        text = Text()
        text.append(f"{diagnosis.mark} {diagnosis.word}", f"bold {inks.level(diagnosis.level)}")
        if health is not None:
            up = span((self.dashboard.clock() - health.started_at).total_seconds())
            text.append(f"   {line(health.node)}, recalld {line(health.version)}, up {up}, {size(health.rss_bytes)}")
        for reason in diagnosis.reasons:
            text.append(f"\n  {reason.words}", inks.level(reason.level) if reason.level > Level.NOTE else "")
            if reason.advice:
                text.append(f"  {reason.advice}", inks.dim)
        if not diagnosis.reasons:
            text.append("\n  everything is indexed, every dependency answers", inks.dim)
        self.put("verdict", text)

    def _checks(self) -> None:
        health, inks = self.dashboard.status.health, self.inks
        rows = _grid(("left", "left", "right", "left"))
        for check in health.checks if health else ():
            took = milliseconds(check.took_ms) if check.took_ms is not None else ""
            detail = Text(line(check.detail), inks.dim, no_wrap=True, overflow="ellipsis")
            status = Text(check.status, inks.word(check.status))
            rows.add_row(Text(line(check.name)), status, Text(took, inks.dim), detail)
        self.put("checks", rows if health else _nothing(inks.dim))

    def _repos(self) -> None:
        stats, inks, now = self.dashboard.status.stats, self.inks, self.dashboard.clock()
        if stats is None:
            self.put("repos", _nothing(inks.dim))
            return
        rows = _grid(("left", "left", "right", "right", "left", "left"))
        rows.add_row(*(Text(name, inks.dim) for name in ("repo", "state", "memos", "failed", "newest", "commit")))
        for repo in stats.repos:
            rows.add_row(
                Text(cut(repo.name, 18), "bold"),
                Text(repo.state, inks.word(repo.state)),
                f"{repo.documents:,}",
                Text(str(repo.failed), inks.bad if repo.failed else inks.dim),
                age(repo.newest_indexed_at, now),
                Text(line(repo.indexed_commit or "-")[:COMMIT], inks.dim),
            )
        fresh = stats.freshness
        waits = Text(f"{fresh.pending:,} waiting, ", inks.warn if fresh.pending else inks.dim)
        waits.append(f"{fresh.stale:,} stale, ", inks.warn if fresh.stale else inks.dim)
        waits.append(f"{fresh.failed:,} failed", inks.bad if fresh.failed else inks.dim)
        self.put("repos", Group(rows, waits))

    def _ingest(self) -> None:
        status, inks, now = self.dashboard.status, self.inks, self.dashboard.monotonic()
        rates, lags = status.indexed.rates(now), status.indexed.tops(now)
        waiting = [float(count) for count in status.waiting]
        latest = next((lag for lag in reversed(lags) if lag), 0.0)
        self.put(
            "ingest",
            Group(
                self._line("files a second", rates, f"{max(rates[-5:], default=0.0):.1f}", inks.good),
                self._line("save to indexed", lags, milliseconds(latest * 1_000) if latest else "-", inks.link),
                self._line("waiting", waiting, f"{status.waiting[-1] if status.waiting else 0:,}", inks.warn),
            ),
        )

    def _searching(self) -> None:
        status, inks = self.dashboard.status, self.inks
        if status.refused:
            self.put("searching", Text(line(status.refused), inks.dim))
            return
        verbs = [view.verbs["search"] for view in status.services if "search" in view.verbs]
        asked, wrong = sum(verb.requests for verb in verbs), sum(verb.errors for verb in verbs)
        pace, paces = status.pace, status.searches
        latency = next((each for each in reversed(paces.latencies) if each), 0.0)
        total = Text(f"{counted(asked, 'search', 'searches')} since the start", inks.dim)
        total.append(f", {counted(wrong, 'error')}", inks.warn if wrong else inks.dim)
        self.put(
            "searching",
            Group(
                self._line("a second", list(paces.rates), f"{pace.rate if pace else 0.0:.1f}", inks.good),
                self._line("latency", list(paces.latencies), milliseconds(latency) if latency else "-", inks.link),
                total,
            ),
        )

    def _line(self, name: str, values: list[float], newest: str, style: str) -> Text:
        width = max(8, min(60, self.query_one("#ingest").content_size.width - 27))
        text = Text(f"{name:<16}", self.inks.dim, no_wrap=True)
        return text.append(spark(values, width), style).append(f" {newest:>8}", "bold")

    def _work(self) -> None:
        jobs, inks, now = self.dashboard.status.jobs, self.inks, self.dashboard.clock()
        if jobs is None:
            self.put("work", _nothing(inks.dim))
            return
        rows = _grid(("left", "left", "left"))
        far = now.replace(year=9999)
        for job in sorted(jobs.jobs, key=lambda job: job.next_at or far)[:NEXT_JOBS]:
            last = Text("never ran", inks.dim)
            if job.last is not None:
                last = Text(job.last.state.replace("_", " "), inks.word(job.last.state))
                if job.last.state == "running":
                    last.append(f" {job.last.share:.0%}" if job.last.share is not None else "")
                else:
                    last.append(f" {age(job.last.ended_at, now)}" if job.last.ended_at else "", inks.dim)
            rows.add_row(Text(line(job.name)), Text(ahead(job.next_at, now), inks.dim), last)
        self.put("work", rows)

    def _index(self) -> None:
        stats, inks, now = self.dashboard.status.stats, self.inks, self.dashboard.clock()
        if stats is None:
            self.put("index", _nothing(inks.dim))
            return
        text = Text()
        for each in stats.generations:
            share = each.documents / each.total if each.total else 0.0
            text.append(f"generation {each.id} ", "bold").append(each.state, inks.word(each.state))
            text.append(f"  {bar(share, 12)} ", inks.link).append(f"{each.documents:,}/{each.total:,}\n")
            text.append(f"  {cut(each.embedder, 46)}\n", inks.dim)
        known = stats.calibration
        if known is None:
            text.append("not calibrated\n", inks.warn)
        else:
            text.append("calibrated ", inks.good)
            text.append(f"{age(known.fitted_at, now)} on {counted(known.documents, 'memo')}\n", inks.dim)
        chunks = sum(repo.chunks for repo in stats.repos)
        text.append(f"{counted(chunks, 'passage')}, {size(stats.database_bytes)} in the database", inks.dim)
        self.put("index", text)

    def _who(self) -> None:
        status, inks = self.dashboard.status, self.inks
        if status.stats is None:
            self.put("nodes", _nothing(inks.dim))
            return
        rows = _grid(("left", "left"))
        for node, facts in nodes(status.services, status.stats, status.jobs):
            rows.add_row(Text(line(node), "bold"), Text(clean(facts), inks.dim))
        self.put("nodes", rows)


def _grid(justify: tuple[str, ...]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    for each in justify:
        grid.add_column(justify="right" if each == "right" else "left")
    return grid


def _nothing(style: str) -> Text:
    return Text("not known yet", style)
