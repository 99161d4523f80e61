"""Receipts: answers that were given to this agent, and which of them still stand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import DataTable, Static

from recalld.bus import wire
from recalld.errors import RecalldError
from recalld_tui.model.room import Elastic
from recalld_tui.model.text import age, counted, day_time, line
from recalld_tui.opening import open_document
from recalld_tui.screens.page import Page
from recalld_tui.widgets.panel import Inspector
from recalld_tui.widgets.rows import Rows
from recalld_tui.working import begin

KEPT = 200


class Receipts(Page):
    """Answers on the left, what the one under the cursor relied on at the right."""

    NAME = "receipts"
    FIRST = "list"
    TOPICS = ("invalidated", "indexed", "deleted")
    EVERY_S: ClassVar[float] = 10.0
    BINDINGS: ClassVar[list[BindingType]] = [Binding("o", "open", "Document")]

    def __init__(self) -> None:
        super().__init__()
        self.receipts: tuple[wire.ReceiptView, ...] = ()
        self.examined: wire.ReceiptView | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out answers and citations."""
        yield Static(id="summary", markup=False)
        with Horizontal(classes="halves"):
            yield Rows[wire.ReceiptView]("stands", "when", "cites", Elastic("question"), id="list")
            yield Inspector("Answer")

    async def load(self) -> None:
        """Ask for the newest receipts."""
        self.receipts = (await self.link.ask(lambda client: client.receipts(limit=KEPT))).receipts

    def draw(self) -> None:
        """Show receipts."""
        now = self.dashboard.clock()
        fallen = sum(not each.stands for each in self.receipts)
        text = Text(f" {counted(len(self.receipts), 'answer')} given to this agent", self.inks.dim)
        text.append(f", {fallen} no longer stand" if fallen else "", self.inks.bad)
        self.put("summary", text)
        rows: list[tuple[str, wire.ReceiptView, tuple[Text, ...]]] = []
        for each in self.receipts:
            stands = Text("yes", self.inks.good) if each.stands else Text("no", f"bold {self.inks.bad}")
            when = Text(age(each.at, now), self.inks.dim)
            rows.append((each.id, each, (stands, when, Text(f"{each.cited:>3}"), Text(line(each.query)))))
        self.query_one(Rows).fill(rows)
        self._about()

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Examine the receipt under the cursor."""
        event.stop()
        begin(self, self._examine, "examine", exclusive=True)

    async def _examine(self) -> None:
        chosen = self.query_one(Rows).current
        if chosen is None:
            return
        try:
            self.examined = (await self.link.ask(lambda client: client.receipts(id=chosen.id))).receipts[0]
        except RecalldError as error:
            self.dashboard.stumbled(error)
        self._about()

    def _about(self) -> None:
        chosen, known = self.query_one(Rows).current, self.examined
        if chosen is None or known is None or known.id != chosen.id:
            self.put("about", Text("no answers yet" if chosen is None else "examining", self.inks.dim))
            return
        text = Text.assemble((f"{line(known.query)}\n", "bold"))
        text.append(f"{line(known.agent)}, {day_time(known.at)}", self.inks.dim)
        text.append(f", as of {day_time(known.as_of)}" if known.as_of else "", self.inks.accent)
        text.append("\nno answer was given\n" if known.abstained else "\n")
        text.append("it still stands\n" if known.stands else "it no longer stands\n", self._ink(known.stands))
        for each in known.citations:
            text.append(f"\n{each.happened or 'stands':<12}", self._ink(each.happened is None))
            text.append(f"{line(f'{each.repo}:{each.path}')}\n", self.inks.link)
            text.append(f"            {line(each.reason)}\n" if each.reason else "", self.inks.dim)
            text.append(f"            see {line(each.successor)}\n" if each.successor else "", self.inks.accent)
        self.put("about", text)

    def _ink(self, good: bool) -> str:
        return self.inks.good if good else self.inks.bad

    def action_open(self) -> None:
        """Open the first document that no longer stands, else the first that was relied on."""
        if self.examined is None or not self.examined.citations:
            return
        citations = self.examined.citations
        one = next((each for each in citations if each.happened not in (None, "deleted")), citations[0])
        open_document(self.dashboard, one.repo, one.path)
