"""Jobs: what runs by the clock, now, and before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from recalld.bus import wire
from recalld.bus.job_words import in_words
from recalld.bus.wire.jobs import ENDED
from recalld_tui.model.room import Elastic
from recalld_tui.model.text import age, ahead, bar, counted, cut, line, milliseconds
from recalld_tui.screens.page import Page
from recalld_tui.widgets.dialogs import Confirm
from recalld_tui.widgets.rows import Rows

HISTORY = 100
BAR = 10


class Jobs(Page):
    """Schedule on top, runs below."""

    NAME = "jobs"
    FIRST = "list"
    TOPICS = ("job",)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("x", "run", "Run now"), Binding("c", "cancel", "Cancel run")]

    def __init__(self) -> None:
        super().__init__()
        self.reply: wire.JobsReply | None = None

    def body(self) -> Iterable[Widget]:
        """Lay out schedule and runs."""
        yield Static(id="summary", markup=False)
        yield Rows[wire.JobView]("job", "when", "next", "last", Elastic("how it went"), id="list")
        yield Rows[wire.JobRunView]("run", "job", "state", "asked", "took", "node", Elastic("how it went"), id="runs")

    async def load(self) -> None:
        """Ask for schedule and runs."""
        self.reply = await self.link.ask(lambda client: client.jobs(limit=HISTORY))

    def draw(self) -> None:
        """Show both."""
        if self.reply is None:
            return
        waiting = self.reply.unsettled - sum(run.state == "running" for run in self.reply.runs)
        words = f" {counted(len(self.reply.jobs), 'job')}, {counted(len(self.reply.runs), 'run')}"
        words += f", {counted(waiting, 'request')} waiting for a node" if waiting > 0 else ""
        self.put("summary", Text(words, self.inks.dim))
        self.query_one("#list", Rows).fill([(job.name, job, self._job(job)) for job in self.reply.jobs])
        self.query_one("#runs", Rows).fill([(str(run.id), run, self._run(run)) for run in self.reply.runs])

    def _job(self, job: wire.JobView) -> tuple[Text, ...]:
        now, last = self.dashboard.clock(), job.last
        return (
            Text(line(job.name), "bold"),
            Text(line(job.when) or "never by the clock", self.inks.dim),
            Text(ahead(job.next_at, now)),
            Text(age(last.ended_at or last.started_at or last.asked_at, now) if last else "never", self.inks.dim),
            self._state(last).append(f" {outcome(last)}", self.inks.dim) if last else Text(""),
        )

    def _run(self, run: wire.JobRunView) -> tuple[Text, ...]:
        took = ""
        if run.started_at is not None and run.ended_at is not None:
            took = milliseconds((run.ended_at - run.started_at).total_seconds() * 1_000)
        return (
            Text(str(run.id), self.inks.dim),
            Text(line(run.name)),
            self._state(run),
            Text(age(run.asked_at, self.dashboard.clock()), self.inks.dim),
            Text(took),
            Text(cut(run.node, 16), self.inks.dim),
            self._progress(run),
        )

    def _state(self, run: wire.JobRunView) -> Text:
        return Text(run.state.replace("_", " "), self.inks.word(run.state))

    def _progress(self, run: wire.JobRunView) -> Text:
        if run.state != "running":
            return Text(outcome(run), self.inks.dim)
        text = Text()
        if run.share is not None:
            text.append(bar(run.share, BAR), self.inks.link).append(f" {run.share:.0%} ")
        return text.append(cut(run.words, 40), self.inks.dim)

    def action_run(self) -> None:
        """Run the job under the cursor now."""
        job = self.query_one("#list", Rows).current
        if job is not None:
            self.dashboard.act(
                lambda client: client.jobs_run(job.name), lambda reply: f"{job.name}: run {reply.run.id} was asked for"
            )

    def action_cancel(self) -> None:
        """Call off the run under the cursor, else the newest one that has not ended."""
        run = self.query_one("#runs", Rows).current if self.focused is self.query_one("#runs") else None
        if run is None and self.reply is not None:
            run = next((each for each in self.reply.runs if each.state not in ENDED), None)
        if run is None or run.state in ENDED:
            self.dashboard.say("no run is under way")
            return
        called_off = run

        def decided(yes: bool | None) -> None:
            if yes:
                self.dashboard.act(
                    lambda client: client.jobs_cancel(id=called_off.id),
                    lambda reply: f"{reply.run.name}: run {reply.run.id} is {reply.run.state}",
                )

        self.dashboard.push_screen(Confirm(f"Call off run {run.id} of {run.name}?", yes="Call off"), decided)


def outcome(run: wire.JobRunView) -> str:
    """Return in a line how a run went."""
    if run.state == "running":
        return cut(run.words, 60)
    return cut(run.error or (in_words(run.result) if run.state == "done" else ""), 80)
