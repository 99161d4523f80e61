"""Lint and failures: what is wrong with which file, and trying again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from recalld.bus import wire
from recalld_tui.model.faults import ordered, tally
from recalld_tui.model.room import Elastic
from recalld_tui.model.text import age, clean, line
from recalld_tui.opening import open_document
from recalld_tui.screens.page import Page
from recalld_tui.widgets.line import Line
from recalld_tui.widgets.panel import Inspector
from recalld_tui.widgets.rows import Rows

KEPT = 1_000


class Faults(Page):
    """Findings on the left, the one under the cursor on the right."""

    NAME = "faults"
    FIRST = "list"
    TOPICS = ("indexed", "failed", "deleted", "quarantined", "scan", "job.done")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Editor"),
        Binding("o", "open", "Document"),
        Binding("x", "retry", "Try again"),
        Binding("l", "lint", "Lint now"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.stats: wire.StatsReply | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out filter, findings and inspector."""
        yield Line(id="filter", placeholder="Filter: words that severity, code, place or message have")
        yield Static(id="summary", markup=False)
        with Horizontal(classes="halves"):
            yield Rows[wire.FindingView](" ", Elastic("where", tail=True), Elastic("what"), id="list")
            yield Inspector("Finding")

    async def load(self) -> None:
        """Ask for the findings."""
        self.stats = await self.link.ask(lambda client: client.stats(findings=KEPT))

    def draw(self) -> None:
        """Show the findings that are asked for."""
        if self.stats is None:
            return
        shown = ordered(self.stats.findings, self.query_one(Input).value)
        text = Text(f" {tally(shown)}", "", no_wrap=True, overflow="ellipsis")
        failed = self.stats.freshness.failed
        text.append(f"  {failed} failed to be indexed" if failed else "", self.inks.bad)
        self.put("summary", text)
        rows: list[tuple[str, wire.FindingView, tuple[Text, ...]]] = []
        for number, each in enumerate(shown):
            where = line(f"{each.path}{f':{each.line}' if each.line else ''}" or each.repo)
            style = self.inks.word(str(each.severity))
            cells = (Text(str(each.severity), style), Text(where), Text(line(each.message), self.inks.dim))
            rows.append((f"{each.repo}:{each.path}:{each.line}:{each.code}:{number}", each, cells))
        self.query_one(Rows).fill(rows)
        self._about()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the finding under the cursor."""
        event.stop()
        self._about()

    def _about(self) -> None:
        one = self.query_one(Rows).current
        if one is None:
            self.put("about", Text("nothing is wrong with any file", self.inks.good))
            return
        now = self.dashboard.clock()
        text = Text.assemble((str(one.severity), self.inks.word(str(one.severity))), (f" {line(one.code)}\n", "bold"))
        text.append(line(f"{one.repo}:{one.path}"), self.inks.link)
        text.append(f":{one.line}\n\n" if one.line else "\n\n", self.inks.link)
        text.append(f"{clean(one.message)}\n")
        text.append(f"\n{clean(one.hint)}\n" if one.hint else "", self.inks.accent)
        text.append(f"\nfirst seen {age(one.first_seen, now)}, last {age(one.last_seen, now)}", self.inks.dim)
        text.append(f", {one.attempts} attempts" if one.attempts > 1 else "", self.inks.dim)
        self.put("about", text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the findings."""
        event.stop()
        self.query_one(Rows).focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Go to the line in $EDITOR."""
        event.stop()
        self.action_edit()

    def action_edit(self) -> None:
        """Go to the line in $EDITOR."""
        one = self.query_one(Rows).current
        if one is not None and one.path:
            self.dashboard.edit(one.repo, one.path, one.line or 1)

    def action_open(self) -> None:
        """Open the document at the line, as it was indexed."""
        one = self.query_one(Rows).current
        if one is not None and one.path:
            at = one.line or 1
            open_document(self.dashboard, one.repo, one.path, (at, at))

    def action_retry(self) -> None:
        """Have the file read and indexed again."""
        one = self.query_one(Rows).current
        if one is None:
            return

        def done(reply: wire.ReindexReply) -> str:
            published = sum(report.changed + report.deleted for report in reply.reports)
            return f"{one.path or one.repo}: {published} put into the queue again"

        path = one.path or None
        self.dashboard.act(lambda client: client.reindex(repo=one.repo, path=path, force=bool(path)), done)

    def action_lint(self) -> None:
        """Run the job lint now."""
        self.dashboard.act(lambda client: client.jobs_run("lint"), lambda reply: f"lint: run {reply.run.id}")
