"""Memory: every document, and for one of them what it replaced, what replaced it, and when each held."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from recalld.bus import wire
from recalld.errors import RecalldError
from recalld.model import DocumentState
from recalld_tui.model.lineage import timeline, tree
from recalld_tui.model.room import Elastic
from recalld_tui.model.shelf import Shelf
from recalld_tui.model.text import age, clean, counted, cut_path, day_time, line
from recalld_tui.opening import open_document
from recalld_tui.screens.page import Page
from recalld_tui.widgets.dialogs import Confirm
from recalld_tui.widgets.line import Line
from recalld_tui.widgets.panel import Inspector
from recalld_tui.widgets.rows import Rows
from recalld_tui.working import begin

SHOWN = 500
PAGE_SIZE = 5_000


class Memory(Page):
    """Documents on the left, the one under the cursor on the right."""

    NAME = "memory"
    FIRST = "list"
    TOPICS = ("indexed", "deleted", "failed", "skipped", "repo")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("o", "open", "Document"),
        Binding("e", "edit", "Editor"),
        Binding("f", "forget", "Forget"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.shelf = Shelf()
        self.lineage: wire.LineageReply | None = None
        self.document: wire.GetReply | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out filter, documents and inspector."""
        yield Line(id="filter", placeholder="Filter: words that repo, path or state have")
        yield Static(id="summary", markup=False)
        with Horizontal(classes="halves"):
            yield Rows[wire.Change](Elastic("document", tail=True), "state", "changed", id="list")
            yield Inspector("Document")

    async def load(self) -> None:
        """Take up what changed since the last time."""
        more = True
        while more:
            reply = await self.link.ask(lambda client: client.delta(since=self.shelf.cursor, limit=PAGE_SIZE))
            self.shelf.take(reply)
            more = reply.more

    def draw(self) -> None:
        """Show the documents that are asked for."""
        found, total = self.shelf.find(self.query_one(Input).value, SHOWN)
        now = self.dashboard.clock()
        words = f" {counted(total, 'document')}"
        words += f", the first {SHOWN} shown: filter for the others" if total > SHOWN else ""
        self.put("summary", Text(words, self.inks.dim))
        rows: list[tuple[str, wire.Change, tuple[Text, ...]]] = []
        for each in found:
            name = Text(line(f"{each.repo}:{each.path}"))
            state = Text(str(each.state), self.inks.word(str(each.state)))
            rows.append((f"{each.repo}:{each.path}", each, (name, state, Text(age(each.at, now), self.inks.dim))))
        self.query_one(Rows).fill(rows)
        self._about()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Look closer at the document under the cursor."""
        event.stop()
        begin(self, self._look_closer, "closer", exclusive=True)

    async def _look_closer(self) -> None:
        chosen = self.query_one(Rows).current
        if chosen is None or chosen.state is not DocumentState.INDEXED:
            self._about()
            return
        try:
            self.document = await self.link.ask(lambda client: client.get(chosen.path, repo=chosen.repo))
            self.lineage = await self.link.ask(lambda client: client.lineage(chosen.path, repo=chosen.repo))
        except RecalldError as error:
            self.dashboard.stumbled(error)
        self._about()

    def _about(self) -> None:
        chosen, known = self.query_one(Rows).current, self.document
        if chosen is None:
            self.put("about", Text("nothing is indexed yet", self.inks.dim))
        elif chosen.state is not DocumentState.INDEXED:
            self.put("about", Text(f"{chosen.state}: it has no text in the index", self.inks.warn))
        elif known is None or (known.repo, known.path) != (chosen.repo, chosen.path):
            self.put("about", Text("asking", self.inks.dim))
        else:
            text = self._facts(known)
            if self.lineage is not None and self.lineage.path == known.path:
                text.append_text(self._tree(self.lineage)).append_text(self._timeline(self.lineage))
            self.put("about", text)

    def _facts(self, known: wire.GetReply) -> Text:
        source = known.provenance
        text = Text.assemble((f"{line(known.title)}\n", "bold"))
        text.append(f"{line(f'{known.repo}:{known.path}')}\n", self.inks.link)
        facts = [
            ("kind", known.kind),
            ("tags", ", ".join(known.tags)),
            ("passages", str(len(known.chunks))),
            ("this version", f"{source.content_hash[:12]}, indexed {day_time(source.indexed_at)}"),
            ("modified", day_time(known.modified_at) if known.modified_at else ""),
            ("first version", f"indexed {day_time(source.first_indexed_at)}"),
            ("commit", source.commit or ""),
        ]
        for name, value in facts:
            if value:
                text.append(f"{name:<15}", self.inks.dim).append(f"{line(value)}\n")
        for finding in known.findings:
            text.append(f"{finding.severity}: {line(finding.message)}\n", self.inks.word(str(finding.severity)))
        return text

    def _tree(self, lineage: wire.LineageReply) -> Text:
        text = Text.assemble(("\nWhat replaced what\n", self.inks.accent))
        for branch in tree(lineage):
            verdict = branch.kin.verdict if branch.kin else "not here"
            indent = "   " * branch.depth
            text.append(indent[3:] + ("└─ " if branch.depth else ""), self.inks.dim)
            here = branch.path == line(lineage.path)
            text.append(branch.path, "bold" if here else "").append(f"  {verdict}", self.inks.word(verdict))
            text.append("  (above)\n" if branch.again else "\n", self.inks.dim)
            text.append(f"{indent}{branch.said}\n" if branch.said else "", self.inks.dim)
            if here and branch.kin and branch.kin.reason:
                text.append(f"{indent}{line(branch.kin.reason)}\n", self.inks.warn)
        return text

    def _timeline(self, lineage: wire.LineageReply) -> Text:
        width = max(20, min(60, self.query_one("#inspector").content_size.width - 4))
        spans, now = timeline(lineage, self.dashboard.clock(), width)
        text = Text.assemble(("\nWhen each held\n", self.inks.accent))
        for span in spans:
            text.append(f"{cut_path(span.path, width)}", "bold" if span.path == line(lineage.path) else "")
            text.append(f"  {span.opened} – {span.closed or 'open'}\n", self.inks.dim)
            bar = "━" * (span.last - span.first + 1) + ("" if span.closed else "▶")
            text.append("·" * span.first, self.inks.dim).append(f"{bar}\n", self.inks.word(span.verdict))
        return text.append(" " * now + "▲ now\n", self.inks.dim)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the documents."""
        event.stop()
        self.query_one(Rows).focus()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the document."""
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Open the document under the cursor."""
        chosen = self.query_one(Rows).current
        if chosen is not None:
            open_document(self.dashboard, chosen.repo, chosen.path)

    def action_edit(self) -> None:
        """Open its file in $EDITOR."""
        chosen = self.query_one(Rows).current
        if chosen is not None:
            self.dashboard.edit(chosen.repo, chosen.path, 1)

    def action_forget(self) -> None:
        """Keep the document out of the index, or let one back in."""
        chosen = self.query_one(Rows).current
        if chosen is None:
            return
        back = chosen.state is DocumentState.FORGOTTEN

        def decided(yes: bool | None) -> None:
            if yes:
                self.dashboard.act(
                    lambda client: client.forget(chosen.path, repo=chosen.repo, undo=back),
                    lambda reply: f"{reply.path} {'comes back' if reply.undone else 'is forgotten'}",
                )

        verb = "Let back in" if back else "Forget"
        words = "It is dropped from the index and kept out; its file stays as it is, and f brings it back."
        self.dashboard.push_screen(Confirm(f"{verb} {clean(chosen.path)}?", "" if back else words, yes=verb), decided)
