"""Recall: ask, see how far each hit may be trusted, and why it stands where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from functools import partial
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import DataTable, Input, Static
from textual.worker import Worker

from recalld.bus import wire
from recalld.errors import RecalldError, UsageError
from recalld_tui.asking import WAYS, Answered
from recalld_tui.model.moments import moment
from recalld_tui.model.recall import GOOD, Found, Passage, Question, evidence, passages_of, place, summary
from recalld_tui.model.room import Elastic
from recalld_tui.model.text import bar, line, milliseconds
from recalld_tui.opening import open_document
from recalld_tui.screens import telling
from recalld_tui.screens.page import Page
from recalld_tui.widgets.dialogs import Prompt
from recalld_tui.widgets.line import Line
from recalld_tui.widgets.panel import Inspector
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
        Binding("m", "way", "Mode"),
        Binding("t", "trace", "Trace"),
        Binding("o", "open", "Open"),
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
        self._work: Worker[None] | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out question, hits and inspector."""
        yield Line(id="question", placeholder="why did we leave the message broker?")
        yield Static(id="summary", markup=False)
        with Horizontal(classes="halves"):
            yield Rows[Passage](" ", "sure", Elastic("where", tail=True), "verdict", id="list")
            yield Inspector("Hit")

    def draw(self) -> None:
        """Show the answer."""
        reply = self.reply
        answers = self.way == "ask"
        self.query_one("#question").border_title = "Ask for an answer" if answers else "Search for passages"
        self.query_one("#inspector").border_title = "Trace" if self._tracing else "Answer" if answers else "Hit"
        self._summary(reply)
        hits = passages_of(reply)
        rows: list[tuple[str, Passage, tuple[Text, ...]]] = []
        for number, hit in enumerate(hits, start=1):
            rows.append((f"{number}:{hit.id}", hit, self._cells(number, hit)))
        self.query_one(Rows).fill(rows)
        self._about()

    def _summary(self, reply: Found | None) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        if self._as_of:
            text.append(f" as of {line(self._as_of)} ", f"bold {self.inks.accent}")
        if reply is None and self.is_asking:
            step = self.answered.step if self.answered else ""
            text.append(f" asking{f': {line(step)}' if step else ''}", self.inks.dim)
        elif reply is None:
            hint = (
                "enter asks; esc, then m to search for passages"
                if self.way == "ask"
                else ("enter searches; esc, then m to ask for an answer")
            )
            text.append(f" {hint}", self.inks.dim)
        else:
            text.append(f" {summary(reply)}", self.inks.warn if reply.abstained else "")
            text.append(f"  {milliseconds(reply.took_ms)}", self.inks.dim)
        self.put("summary", text)

    def _cells(self, number: int, hit: Passage) -> tuple[Text, ...]:
        style = telling.ink_of(hit.verdict, self.inks)
        sure = Text(f"{'not known':<{BAR + 5}}", self.inks.dim)
        if hit.confidence is not None:
            likely = style if hit.confidence >= SURE else self.inks.dim
            sure = Text(bar(hit.confidence, BAR), likely).append(f" {hit.confidence:4.0%}", "")
        where = Text(line(f"{hit.path}:{hit.lines[0]}"), "" if hit.verdict in GOOD else self.inks.dim)
        return Text(str(number), self.inks.dim), sure, where, Text(hit.verdict, style)

    def _about(self) -> None:
        """Show the answer in prose, then the passage under the cursor, or what the stages did with it."""
        hit, answered = self.query_one(Rows).current, self.answered
        if answered is None:
            self.put("about", Text(""))
            return
        reply = answered.reply
        shown: list[RenderableType] = []
        if self.way == "ask" and not self._tracing:
            shown.append(telling.answer(answered.words, reply if isinstance(reply, wire.AskReply) else None, self.inks))
        if isinstance(hit, wire.Citation) and not self._tracing:
            shown.append(Text(f"\nCitation {hit.number}", self.inks.accent))
        if reply is not None and hit is not None:
            shown.append(telling.trace(hit, reply, self.inks) if self._tracing else telling.passage(hit, self.inks))
        elif reply is not None and (self._tracing or self.way == "search"):
            shown.append(telling.all_stages(reply, self.inks))
        self.put("about", Group(*shown))

    @property
    def reply(self) -> Found | None:
        """Return the answer once it is whole."""
        return self.answered.reply if self.answered else None

    @property
    def is_asking(self) -> bool:
        """Tell whether an answer is on its way."""
        return self._work is not None and self._work.is_running

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
        self.answered = None
        self._work = begin(self, partial(self._ask, self.question), "ask", exclusive=True)
        self.draw()

    async def _ask(self, question: Question) -> None:
        try:
            async with aclosing(WAYS[self.way](self.link, question)) as growing:
                async for self.answered in growing:
                    self.draw()
            self._whole()
        except RecalldError as error:
            self.put("summary", Text(f" {line(error.message)}  {line(error.suggestion)}", self.inks.bad))
            self.dashboard.stumbled(error)

    def _whole(self) -> None:
        """Go from the question to what was found, unless somebody has gone elsewhere meanwhile."""
        if self.query_one(Rows).row_count and self.focused in (None, self.query_one(Input)):
            self.query_one(Rows).focus()

    def on_screen_suspend(self) -> None:
        """Call off an answer in prose when the screen is left; below a dialog it goes on being written."""
        super().on_screen_suspend()
        if self.way == "ask" and self.is_asking and self.dashboard.current_mode != self.NAME:
            self._call_off()

    def _call_off(self) -> None:
        if self._work is not None:
            self._work.cancel()
        self.answered = self._work = None

    def action_way(self) -> None:
        """Change between searching for passages and asking for an answer."""
        ways = list(WAYS)
        self.way = ways[(ways.index(self.way) + 1) % len(ways)]
        self._call_off()
        self.draw()
        self.query_one(Input).focus()

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
        if hit is not None and self.answered is not None and self.answered.reply is not None:
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
