"""Recall: ask, see how far each hit may be trusted, and why it stands where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static

from recalld.bus import wire
from recalld.errors import RecalldError, UsageError
from recalld_tui.asking import WAYS, Answered
from recalld_tui.model.moments import moment
from recalld_tui.model.recall import (
    GOOD,
    Question,
    evidence,
    heading,
    passages,
    place,
    provenance,
    stages,
    summary,
    validity,
)
from recalld_tui.model.text import bar, clean, cut_path, line, milliseconds
from recalld_tui.opening import open_document
from recalld_tui.screens.page import Page
from recalld_tui.widgets.dialogs import Prompt
from recalld_tui.widgets.line import Line
from recalld_tui.widgets.rows import Rows
from recalld_tui.working import begin

BAR = 6
SURE = 0.5
"""The confidence from which on the memory thinks that it has an answer."""
AS_OF = "What held when? 2024-07-15, or 3d ago as 3d; empty: now"


class Recall(Page):
    """Question on top, hits on the left, and the hit under the cursor on the right."""

    NAME = "recall"
    FIRST = "question"
    EVERY_S: ClassVar[float] = 3600.0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "trace", "Trace"),
        Binding("o", "open", "Document"),
        Binding("e", "edit", "Editor"),
        Binding("a", "as_of", "As of"),
        Binding("y", "copy", "Copy"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.answered: Answered | None = None
        self.question: Question | None = None
        self.way = next(iter(WAYS))
        self._as_of = ""
        self._tracing = False

    def body(self) -> Iterable[Widget]:
        """Lay out question, hits and inspector."""
        yield Line(id="question", placeholder="Ask the memory: why did we leave the message broker?")
        yield Static(id="summary", markup=False)
        with Horizontal(classes="halves"):
            yield Rows[wire.Hit](" ", "sure", "where", "verdict", id="list")
            with VerticalScroll(id="inspector", classes="panel"):
                yield Static(id="about", markup=False)

    def draw(self) -> None:
        """Show the answer."""
        reply = self.answered.reply if self.answered else None
        self.query_one("#inspector").border_title = "Trace" if self._tracing else "Hit"
        self._summary(reply)
        hits = (*reply.hits, *reply.withheld) if reply else ()
        width = max(20, self.query_one("#list").size.width - 30)
        rows: list[tuple[str, wire.Hit, tuple[Text, ...]]] = []
        for number, hit in enumerate(hits, start=1):
            rows.append((f"{number}:{hit.id}", hit, self._cells(number, hit, width)))
        self.query_one(Rows).fill(rows)
        self._about()

    def _summary(self, reply: wire.SearchReply | None) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        if self._as_of:
            text.append(f" as of {line(self._as_of)} ", f"bold {self.inks.accent}")
        if reply is None:
            text.append(" enter asks; esc, then arrows choose a hit", self.inks.dim)
        else:
            text.append(f" {summary(reply)}", self.inks.warn if reply.abstained else "")
            text.append(f"  {milliseconds(reply.took_ms)}", self.inks.dim)
        self.put("summary", text)

    def _cells(self, number: int, hit: wire.Hit, width: int) -> tuple[Text, ...]:
        style = self._style(hit)
        sure = Text(f"{'not known':<{BAR + 5}}", self.inks.dim)
        if hit.confidence is not None:
            likely = style if hit.confidence >= SURE else self.inks.dim
            sure = Text(bar(hit.confidence, BAR), likely).append(f" {hit.confidence:4.0%}", "")
        where = Text(cut_path(f"{hit.path}:{hit.lines[0]}", width), "" if hit.verdict in GOOD else self.inks.dim)
        return Text(str(number), self.inks.dim), sure, where, Text(hit.verdict, style)

    def _style(self, hit: wire.Hit) -> str:
        return self.inks.word(hit.verdict) if hit.verdict in GOOD else self.inks.warn

    def _about(self) -> None:
        hit, reply = self.query_one(Rows).current, self.answered.reply if self.answered else None
        shown: RenderableType = Text("")
        if hit is not None and reply is not None:
            shown = self._trace(hit, reply) if self._tracing else self._hit(hit)
        elif reply is not None:
            shown = self._stages(reply)
        self.put("about", shown)

    def _hit(self, hit: wire.Hit) -> RenderableType:
        top = Text(heading(hit), "bold")
        top.append(f"\n{place(hit)}\n", self.inks.link)
        top.append(hit.verdict, f"bold {self._style(hit)}")
        top.append(f"  {hit.confidence:.0%} sure" if hit.confidence is not None else f"  score {hit.score:.3f}")
        if hit.reason:
            top.append(f"\n{line(hit.reason)}", self.inks.warn)
        facts = Table.grid(padding=(0, 2, 0, 0))
        for name, value in (*validity(hit), *provenance(hit)):
            facts.add_row(Text(name, self.inks.dim), Text(value))
        passage = Text(f"\n{clean(hit.text)}\n")
        return Group(top, passage, facts)

    def _trace(self, hit: wire.Hit, reply: wire.SearchReply) -> RenderableType:
        rows = Table.grid(padding=(0, 2, 0, 0))
        for one in passages(reply, hit.id):
            rank = Text(f"rank {one.rank}") if one.rank else Text("not ranked", self.inks.dim)
            score = f"{one.score:.3f}" if one.score is not None else ""
            rows.add_row(Text(one.stage, "bold"), rank, score, Text(line(one.dropped), self.inks.warn))
        return Group(Text(f"{place(hit)}\n", self.inks.link), rows, self._stages(reply))

    def _stages(self, reply: wire.SearchReply) -> RenderableType:
        text = Text()
        for stage in stages(reply):
            text.append(f"\n{stage.stage:<10}", f"bold {self.inks.accent}")
            text.append(f" {stage.entered} in, {stage.left} out", "").append(f"  {milliseconds(stage.took_ms)}\n")
            if stage.dropped:
                text.append(f"  dropped: {stage.dropped}\n", self.inks.warn)
            for number, (name, score) in enumerate(stage.best, start=1):
                text.append(f"  {number} {score:8.3f}  ", self.inks.dim).append(f"{name}\n")
        return text

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Ask."""
        event.stop()
        if event.value.strip():
            self.ask(event.value.strip())

    def ask(self, text: str) -> None:
        """Ask a question; the one before is forgotten, whether answered or not."""
        try:
            as_of = moment(self._as_of, self.dashboard.clock())
        except UsageError as error:
            self.dashboard.tell(error)
            return
        self.question = Question(text, as_of)
        self.put("summary", Text(" asking", self.inks.dim))
        begin(self, partial(self._ask, self.question), "ask", exclusive=True)

    async def _ask(self, question: Question) -> None:
        try:
            async for answered in WAYS[self.way](self.link, question):
                first, self.answered = self.answered is None, answered
                self.draw()
                if answered.whole and answered.reply.hits and (first or self.focused is self.query_one(Input)):
                    self.query_one(Rows).focus()
        except RecalldError as error:
            self.put("summary", Text(f" {line(error.message)}  {line(error.suggestion)}", self.inks.bad))
            self.dashboard.stumbled(error)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the hit under the cursor."""
        event.stop()
        self.query_one("#inspector").scroll_home(animate=False)
        self._about()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Open the document of the hit."""
        event.stop()
        self.action_open()

    def action_trace(self) -> None:
        """Change between hit and trace."""
        self._tracing = not self._tracing
        self.draw()

    def action_open(self) -> None:
        """Open the document at the hit's lines."""
        hit = self.query_one(Rows).current
        if hit is not None:
            open_document(self.dashboard, hit.repo, hit.path, hit.lines)

    def action_edit(self) -> None:
        """Open the hit's file in $EDITOR."""
        hit = self.query_one(Rows).current
        if hit is not None:
            self.dashboard.edit(hit.repo, hit.path, hit.lines[0])

    def action_copy(self) -> None:
        """Copy the hit as evidence."""
        hit = self.query_one(Rows).current
        if hit is not None and self.answered is not None:
            self.dashboard.copy_to_clipboard(evidence(hit, self.answered.reply))
            self.dashboard.say(f"copied {place(hit)} as evidence")

    def action_as_of(self) -> None:
        """Ask for the moment that questions are about."""

        def take(value: str | None) -> None:
            if value is None:
                return
            try:
                moment(value, self.dashboard.clock())
            except UsageError as error:
                self.dashboard.tell(error)
                return
            self._as_of = value.strip()
            if self.question is not None:
                self.ask(self.question.text)
            else:
                self.draw()

        self.dashboard.push_screen(Prompt("As of", self._as_of, AS_OF), take)
