"""Lessons: which fire, which never do, what waits to be decided, and taking it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import DataTable, Static

from recalld.bus import wire
from recalld.errors import RecalldError
from recalld_tui.model.lessons import VIEWS, acceptance, complaints, fired, is_proposed, ordered, savings, summary
from recalld_tui.model.room import Elastic
from recalld_tui.model.text import age, clean, counted, cut, day_time, line
from recalld_tui.opening import open_document
from recalld_tui.screens.page import Page
from recalld_tui.widgets.dialogs import Confirm
from recalld_tui.widgets.panel import Inspector
from recalld_tui.widgets.rows import Rows
from recalld_tui.working import begin

Thing = wire.LessonView | wire.GroupView | wire.PruneView | wire.RunView
Action = Literal["accept", "reject", "pin", "unpin"]
NAMES = {"lessons": "Lessons", "merges": "Say the same", "prune": "May be put away", "undo": "Done so far"}


class Lessons(Page):
    """A list of one kind on the left, what is under the cursor on the right; ``v`` goes to the next kind."""

    NAME = "lessons"
    FIRST = "list"
    TOPICS = ("indexed", "deleted")
    EVERY_S: ClassVar[float] = 15.0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "view", "Next"),
        Binding("y", "accept", "Accept"),
        Binding("n", "reject", "Reject"),
        Binding("p", "pin", "Pin"),
        Binding("u", "undo", "Undo"),
        Binding("o", "open", "Open"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.view = VIEWS[0]
        self.lessons: tuple[wire.LessonView, ...] = ()
        self.groups: tuple[wire.GroupView, ...] = ()
        self.prunes: tuple[wire.PruneView, ...] = ()
        self.runs: tuple[wire.RunView, ...] = ()
        self.audit: wire.AuditReply | None = None
        self._text: dict[tuple[str, str], str] = {}

    def body(self) -> Iterable[Widget]:
        """Lay out list and inspector."""
        yield Static(id="summary", markup=False)
        yield Static(id="views", markup=False)
        with Horizontal(classes="halves"):
            yield Rows[Thing](" ", Elastic("what"), "fired", "helped", "last", id="list")
            yield Inspector("Lesson")

    async def load(self) -> None:
        """Ask for lessons, and for what could be done about them."""
        ask = self.link.ask
        self.lessons = (await ask(lambda client: client.lessons())).lessons
        self.audit = await ask(lambda client: client.audit())
        self.groups = (await ask(lambda client: client.consolidate())).groups
        self.prunes = tuple(each for each in (await ask(lambda client: client.prune())).repos if each.proposed)
        self.runs = (await ask(lambda client: client.undo())).runs

    def draw(self) -> None:
        """Show the list that is looked at."""
        self.put("summary", Text(f" {summary(self.lessons)}", no_wrap=True, overflow="ellipsis"))
        counts = {
            "lessons": len(self.lessons), "merges": len(self.groups),
            "prune": sum(len(each.proposed) for each in self.prunes), "undo": len(self.runs),
        }  # fmt: skip
        views = Text(" ", no_wrap=True)
        for name, title in NAMES.items():
            style = f"bold {self.inks.accent}" if name == self.view else self.inks.dim
            views.append(f"{title} {counts[name]}", style).append("   ")
        self.put("views", views)
        rows: dict[str, Callable[[], list[tuple[str, Thing, tuple[Text, ...]]]]] = {
            "lessons": lambda: [
                (f"{each.repo}:{each.path}", each, self._lesson(each)) for each in ordered(self.lessons)
            ],
            "merges": lambda: [(each.id, each, self._group(each)) for each in self.groups],
            "prune": lambda: [(each.repo, each, self._prune(each)) for each in self.prunes],
            "undo": lambda: [(each.id, each, self._run(each)) for each in self.runs],
        }
        self.query_one(Rows).fill(rows[self.view]())
        self._about()

    def _lesson(self, each: wire.LessonView) -> tuple[Text, ...]:
        proposed, use = is_proposed(each), each.use
        mark = Text("proposed", self.inks.accent) if proposed else Text("pinned" if each.pinned else "", self.inks.dim)
        times = fired(each)
        helped = Text(f"{use.helped}/{use.helped + use.failed}" if use.helped + use.failed else "", self.inks.good)
        last = age(use.last_at, self.dashboard.clock()) if use.last_at else "never"
        name = Text(line(each.title))
        return mark, name, Text(str(times), "" if times else self.inks.dim), helped, Text(last, self.inks.dim)

    def _group(self, each: wire.GroupView) -> tuple[Text, ...]:
        mark = Text("no" if each.why_not else "merge", self.inks.dim if each.why_not else self.inks.accent)
        return mark, Text(line(each.into)), Text(counted(len(each.paths), "file")), Text(""), Text("")

    def _prune(self, each: wire.PruneView) -> tuple[Text, ...]:
        words = f"{counted(len(each.proposed), 'lesson')} may go, {len(each.kept)} stay"
        return Text(line(each.repo), "bold"), Text(words), Text(""), Text(""), Text("")

    def _run(self, each: wire.RunView) -> tuple[Text, ...]:
        undone = Text("undone", self.inks.dim) if each.undone_at else Text("")
        when = Text(age(each.at, self.dashboard.clock()), self.inks.dim)
        words = f"{each.kind}, {counted(len(each.moves), 'file')} of {line(each.repo)}"
        return undone, Text(words), Text(""), Text(""), when

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Look closer at what is under the cursor."""
        event.stop()
        self._about()
        begin(self, self._fetch, "fetch", exclusive=True)

    async def _fetch(self) -> None:
        """Fetch the text of a lesson that waits to be accepted: what it says is what one decides on."""
        one = self.query_one(Rows).current
        if not isinstance(one, wire.LessonView):
            return
        try:
            reply = await self.link.ask(lambda client: client.get(one.path, repo=one.repo))
        except RecalldError as error:
            self.dashboard.stumbled(error)
            return
        self._text[one.repo, one.path] = reply.text
        self._about()

    def _about(self) -> None:
        one = self.query_one(Rows).current
        shown = self._audit()
        if isinstance(one, wire.LessonView):
            shown = self._of_lesson(one)
        elif isinstance(one, wire.GroupView):
            shown = Text.assemble((f"{len(one.paths)} lessons say the same\n", "bold"))
            shown.append(f"not merged: {line(one.why_not)}\n" if one.why_not else "", self.inks.warn)
            shown.append_text(self._diff(one.diff))
        elif isinstance(one, wire.PruneView):
            shown = Text.assemble(("May be put away\n", "bold"), "\n".join(map(line, one.proposed)))
            shown.append("\n\nStay\n", "bold")
            for each in one.kept:
                shown.append(f"{line(each.path)}", self.inks.link).append(f"  {line(each.reason)}\n", self.inks.dim)
        elif isinstance(one, wire.RunView):
            shown = Text.assemble((f"{one.kind} {one.id}\n", "bold"))
            shown.append(f"{day_time(one.at)} by {line(one.agent)}\n", self.inks.dim)
            for old, new in one.moves:
                shown.append(f"{line(old)}", self.inks.link).append(f" → {line(new)}\n", self.inks.dim)
        self.put("about", shown)

    def _of_lesson(self, one: wire.LessonView) -> Text:
        use = one.use
        where = line(f"{one.repo}:{one.path}")
        text = Text.assemble((f"{line(one.title)}\n", "bold"), (f"{where}\n", self.inks.link))
        text.append(f"☐ {line(one.check)}\n", self.inks.accent)
        text.append(
            f"shown {use.surfaced}, found {use.retrieved}, helped {use.helped}, failed {use.failed}, "
            f"learned {counted(one.seen_count, 'time')}\n", self.inks.dim,
        )  # fmt: skip
        said = self._text.get((one.repo, one.path))
        return text.append(f"\n{clean(said)}" if said else "")

    def _audit(self) -> Text:
        text = Text.assemble(("nothing here", self.inks.dim))
        if self.audit is not None:
            text.append("\n\n" + "\n".join(savings(self.audit)))
            for each in complaints(self.audit):
                text.append(f"\n{each.what} ", self.inks.warn).append(f"{each.path} {each.reason}")
        return text

    def _diff(self, diff: str) -> Text:
        text = Text()
        for each in clean(diff).split("\n"):
            ink = {"+": self.inks.good, "-": self.inks.bad, "@": self.inks.accent}.get(each[:1], "")
            text.append(f"{each}\n", ink)
        return text

    def action_view(self) -> None:
        """Go to the next kind of list."""
        self.view = VIEWS[(VIEWS.index(self.view) + 1) % len(VIEWS)]
        self.draw()

    def action_accept(self) -> None:
        """Accept a proposed lesson, merge a group, or put away what may go; each after a look at what that does."""
        one = self.query_one(Rows).current
        if isinstance(one, wire.LessonView):
            diff = self._diff(acceptance(one.path, self._text.get((one.repo, one.path), "")))
            self._confirm(f"Accept {one.title}?", diff, "Accept", self._review(one, "accept"))
        elif isinstance(one, wire.GroupView) and not one.why_not:
            words = f"Merge {len(one.paths)} lessons into {one.into}?"
            accept = one.id
            self._confirm(
                words, self._diff(one.diff), "Merge",
                lambda: self.dashboard.act(
                    lambda client: client.consolidate(repo=one.repo, accept=(accept,)), lambda reply: "merged"
                ),
            )  # fmt: skip
        elif isinstance(one, wire.PruneView):
            names = Text("\n".join(map(line, one.proposed)))
            self._confirm(
                f"Put away {counted(len(one.proposed), 'lesson')} of {one.repo}?", names, "Put away",
                lambda: self.dashboard.act(
                    lambda client: client.prune(repo=one.repo, apply=True),
                    lambda reply: f"{sum(len(each.proposed) for each in reply.repos if each.run)} put away",
                ),
            )  # fmt: skip

    def action_reject(self) -> None:
        """Reject a lesson: it is put away."""
        one = self.query_one(Rows).current
        if isinstance(one, wire.LessonView):
            words = Text(f"{line(one.path)} is put into the archive; undo brings it back.")
            self._confirm(f"Reject {one.title}?", words, "Reject", self._review(one, "reject"))

    def action_pin(self) -> None:
        """Pin a lesson, so that it is never put away, or unpin it."""
        one = self.query_one(Rows).current
        if isinstance(one, wire.LessonView):
            self._review(one, "unpin" if one.pinned else "pin")()

    def action_undo(self) -> None:
        """Take back a run: what it moved comes back byte for byte."""
        one = self.query_one(Rows).current
        if isinstance(one, wire.RunView) and one.undone_at is None:
            moves = Text("\n".join(f"{line(new)} → {line(old)}" for old, new in one.moves))
            self._confirm(
                f"Undo {one.kind} {one.id}?", moves, "Undo",
                lambda: self.dashboard.act(
                    lambda client: client.undo(one.id, repo=one.repo), lambda reply: f"{one.id} is undone"
                ),
            )  # fmt: skip

    def action_open(self) -> None:
        """Open the lesson's document."""
        one = self.query_one(Rows).current
        if isinstance(one, wire.LessonView):
            open_document(self.dashboard, one.repo, one.path)

    def _review(self, one: wire.LessonView, action: Action) -> Callable[[], None]:
        def act() -> None:
            self.dashboard.act(
                lambda client: client.review(ref=one.path, repo=one.repo, action=action),
                lambda reply: f"{reply.path}: {reply.action}{'' if reply.changed else ', as it was'}",
            )

        return act

    def _confirm(self, question: str, detail: Text, yes: str, then: Callable[[], Any]) -> None:
        def decided(answer: bool | None) -> None:
            if answer:
                then()

        self.dashboard.push_screen(Confirm(cut(question, 200), detail, yes=yes), decided)
