"""What befalls a watcher's source of hints: whatever it is, no change is lost and the watcher says what is wrong.

The source is the kernel's; :class:`Faulty` stands between it and the watcher and breaks it when a test says so.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from recalld.bus.wire import ReindexRequest
from recalld.errors import DependencyError
from recalld.settings import WatchSettings
from recalld.watch import keeper
from recalld.watch.hints import Hints
from recalld.watch.ports import Clock
from recalld.watch.sources import Armed, Deliver, EventSource, Target
from tests.support.watching import MemoryIndex, repo_at, settings, watching

FULL = OSError(errno.ENOSPC, "OS file watch limit reached.")


@dataclass
class Winding:
    """A clock that can be put forward."""

    ahead_s: float = 0.0

    def clock(self) -> Clock:
        return Clock(
            now=lambda: datetime.now(UTC) + timedelta(seconds=self.ahead_s),
            time_ns=lambda: time.time_ns() + int(self.ahead_s * 1e9),
            monotonic=lambda: time.monotonic() + self.ahead_s,
        )


@dataclass
class Faulty:
    """The kernel's events, until they are broken.

    ``refuses`` is raised instead of arming. Of the sources, counted from 1, the ``deaf`` one drops its hints and the
    ``mute`` one does not even say that it lives.
    """

    settings: WatchSettings = field(default_factory=settings)
    armings: int = 0
    refuses: Exception | None = None
    deaf: int = 0
    mute: int = 0
    _broken: anyio.Event = field(default_factory=anyio.Event)
    _error: Exception = field(default_factory=Exception)

    async def __call__(self, targets: Sequence[Target], armed: Callable[[Armed], None], deliver: Deliver) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.armings = number = self.armings + 1

        def pass_on(hints: Mapping[str, Hints]) -> None:
            if self.mute != number:
                deliver({} if self.deaf == number else hints)

        async with anyio.create_task_group() as group:
            group.start_soon(self._break)
            await EventSource(self.settings)(targets, armed, pass_on)

    def breaks(self, error: Exception) -> None:
        """Have the source that runs now die of an error; the next one is whole."""
        self._error, broken, self._broken = error, self._broken, anyio.Event()
        broken.set()

    async def _break(self) -> None:
        await self._broken.wait()
        raise self._error


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the source looked after without delay, and not held to be silent when the clock is put forward."""
    monkeypatch.setattr(keeper, "CHECK_S", 0.05)
    monkeypatch.setattr(keeper, "SILENT_S", 1e6)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A memory of two files."""
    root = tmp_path / "memory"
    save(root, "a.md")
    save(root, "docs/b.md")
    return root


@pytest.fixture
def index() -> MemoryIndex:
    return MemoryIndex()


@pytest.fixture
def winding() -> Winding:
    return Winding()


@pytest.fixture
def events() -> Faulty:
    return Faulty()


def save(root: Path, path: str, text: str = "") -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text or f"text of {path}\n")


async def test_a_source_that_dies_is_replaced_and_what_happened_meanwhile_is_found(
    index: MemoryIndex, root: Path, winding: Winding, events: Faulty
) -> None:
    async with watching(index, repo_at(root), clock=winding.clock(), events=events) as watcher:
        await index.until_equal(root)
        events.breaks(RuntimeError("the backend gave up"))
        save(root, "docs/b.md", "saved while nobody watched\n")
        await index.until_equal(root)
        assert "the backend gave up" in watcher.trouble()
        assert watcher.is_alive()
        await index.until(lambda: index.scans["memory"] == 2)
        winding.ahead_s += keeper.STEADY_S + 1
        save(root, "a.md", "told by the next source\n")
        await index.until_equal(root)
        assert events.armings == 2
        assert not watcher.trouble()


async def test_events_that_keep_failing_give_way_to_polling_for_a_while(
    index: MemoryIndex, root: Path, winding: Winding, events: Faulty
) -> None:
    events.refuses = RuntimeError("no backend here")
    async with watching(index, repo_at(root), clock=winding.clock(), events=events, poll_interval_s=0.1) as watcher:
        await index.until(lambda: index.states[-1:] == ["polling"])
        assert watcher.summary() == "polling 1 repo"
        assert watcher.trouble() == "no events: no backend here"
        save(root, "docs/b.md", "found by polling\n")
        await index.until_equal(root)
        events.refuses = None
        winding.ahead_s += keeper.STEADY_S + 1
        await index.until(lambda: index.states[-1:] == ["watching"])
        save(root, "docs/b.md", "told by the kernel\n")
        await index.until_equal(root)
        assert not watcher.trouble()
        assert watcher.summary() == "watching 1 repo"


async def test_a_full_watch_table_means_polling_at_once_and_events_when_there_is_room(
    index: MemoryIndex, root: Path, winding: Winding, events: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    events.refuses = FULL
    async with watching(index, repo_at(root), clock=winding.clock(), events=events, poll_interval_s=0.1) as watcher:
        await index.until(lambda: index.states[-1:] == ["polling"])
        assert "watch limit" in watcher.trouble()
        assert "fs.inotify.max_user_watches" in caplog.text
        winding.ahead_s += keeper.STEADY_S + 1
        save(root, "new/c.md")
        await index.until_equal(root)
        assert index.states[-1] == "polling"
        events.refuses = None
        winding.ahead_s += keeper.EVENTS_AGAIN_S
        await index.until(lambda: index.states[-1:] == ["watching"])
        assert not watcher.trouble()


async def test_a_table_that_fills_up_later_costs_nothing(
    index: MemoryIndex, root: Path, winding: Winding, events: Faulty
) -> None:
    """New directories need a new source; that it cannot be had is no reason to miss what is in them."""
    async with watching(index, repo_at(root), clock=winding.clock(), events=events, poll_interval_s=0.1) as watcher:
        await index.until_equal(root)
        events.refuses = FULL
        save(root, "new/c.md")
        await index.until(lambda: index.states[-1:] == ["polling"])
        save(root, "new/c.md", "changed\n")
        save(root, "new/deeper/d.md")
        await index.until_equal(root)
        assert "watch limit" in watcher.trouble()


async def test_with_mode_events_nothing_stands_in(
    index: MemoryIndex, root: Path, winding: Winding, events: Faulty
) -> None:
    events.refuses = FULL
    repo = repo_at(root)
    async with watching(index, clock=winding.clock(), events=events, mode="events") as watcher:
        await watcher.add(repo)
        await index.until(lambda: watcher.trouble())
        assert watcher.summary() == "watching 1 repo"
        events.refuses = None
        await index.until_equal(root)


async def test_a_source_that_falls_silent_is_replaced(
    index: MemoryIndex,
    root: Path,
    winding: Winding,
    events: Faulty,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keeper, "SILENT_S", 30.0)
    async with watching(index, repo_at(root), clock=winding.clock(), events=events) as watcher:
        await index.until_equal(root)
        events.mute = events.armings
        save(root, "docs/b.md", "saved while the source hung\n")
        winding.ahead_s += keeper.SILENT_S + 1
        await index.until_equal(root)
        assert "has been silent" in caplog.text
        assert events.armings == 2
        assert watcher.is_alive()


async def test_changes_that_no_event_told_of_have_the_source_replaced(
    index: MemoryIndex, root: Path, winding: Winding, events: Faulty, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    async with watching(index, repo_at(root), clock=winding.clock(), events=events):
        await index.until_equal(root)
        events.deaf = events.armings
        save(root, "docs/b.md", "nobody told of it\n")
        winding.ahead_s += 3_700
        await index.until_equal(root)
        await index.until(lambda: "no event told of docs/b.md" in caplog.text)
        save(root, "docs/b.md", "told by the next source\n")
        await index.until_equal(root)
        assert events.armings == 2


async def test_mode_poll_asks_the_kernel_for_nothing(index: MemoryIndex, root: Path, events: Faulty) -> None:
    async with watching(index, repo_at(root), events=events, mode="poll", poll_interval_s=0.1) as watcher:
        await index.until_equal(root)
        save(root, "a.md", "changed\n")
        save(root, "x/y/z.md")
        await index.until_equal(root)
        (root / "docs").rename(root / "papers")
        await index.until_equal(root)
        save(root, ".recallignore", "papers/\n")
        await index.until(lambda: "papers/b.md" not in index.documents())
        assert events.armings == 0
        assert index.states == ["scanning", "polling"]
        assert watcher.summary() == "polling 1 repo"
        assert not watcher.trouble()


async def test_a_root_renamed_away_and_back_loses_nothing(index: MemoryIndex, root: Path, tmp_path: Path) -> None:
    async with watching(index, repo_at(root)) as watcher:
        await index.until_equal(root)
        published = len(index.published)
        root.rename(tmp_path / "elsewhere")
        await index.until(lambda: index.codes() == {"": {"root_missing"}})
        assert index.states[-1] == "offline"
        assert "cannot be watched" in watcher.trouble()
        with pytest.raises(DependencyError, match="cannot be watched"):
            await watcher.scan("memory", ReindexRequest())
        (tmp_path / "elsewhere").rename(root)
        await index.until(lambda: not index.codes())
        assert len(index.published) == published
        save(root, "docs/b.md", "saved after it came back\n")
        await index.until_equal(root)


async def test_another_directory_under_the_roots_name_is_watched(
    index: MemoryIndex, root: Path, tmp_path: Path
) -> None:
    async with watching(index, repo_at(root)):
        await index.until_equal(root)
        root.rename(tmp_path / "elsewhere")
        shutil.copytree(tmp_path / "elsewhere", root)
        save(root, "docs/c.md")
        await index.until_equal(root)
        save(root, "docs/c.md", "changed in the new one\n")
        save(tmp_path / "elsewhere", "docs/b.md", "changed in the old one\n")
        await index.until_equal(root)


async def test_an_empty_directory_in_the_roots_place_is_asked_about(
    index: MemoryIndex, root: Path, tmp_path: Path
) -> None:
    """An unmounted volume leaves its mount point."""
    async with watching(index, repo_at(root)) as watcher:
        await index.until_equal(root)
        root.rename(tmp_path / "elsewhere")
        root.mkdir()
        await index.until(lambda: "prune-refused" in index.codes().get("", ()))
        assert set(index.documents()) == {"a.md", "docs/b.md"}
        report = await watcher.scan("memory", ReindexRequest(allow_prune=True))
        assert (report.deleted, index.documents()) == (2, {})


async def test_a_second_repo_costs_the_first_no_event_and_no_scan(
    index: MemoryIndex, root: Path, tmp_path: Path, events: Faulty
) -> None:
    other = tmp_path / "other"
    save(other, "o.md")
    async with watching(index, repo_at(root), events=events) as watcher:
        await index.until_equal(root)
        await watcher.add(repo_at(other, "other"))
        save(root, "docs/b.md", "saved while the other one came\n")
        await index.until_equal(other, "other")
        await index.until_equal(root)
        await watcher.remove("other")
        save(root, "docs/b.md", "saved while the other one went\n")
        save(other, "o.md", "not watched any more\n")
        await index.until_equal(root)
        assert index.scans["memory"] == 1
        assert index.count("o.md") == 1


async def test_an_index_that_does_not_answer_is_named_and_asked_again(index: MemoryIndex, root: Path) -> None:
    async with watching(index, repo_at(root)) as watcher:
        await index.until_equal(root)
        index.refuses = DependencyError("the index does not answer", suggestion="wait")
        save(root, "a.md", "saved while the index was away\n")
        await index.until(lambda: "files cannot be handed over" in watcher.trouble())
        assert index.asked.total() < 30, "it is asked again, but not without a pause"
        index.refuses = None
        await index.until_equal(root)
        await index.until(lambda: not index.codes())
        assert not watcher.trouble()


async def test_nothing_is_compared_while_git_holds_its_lock(index: MemoryIndex, root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    async with watching(index, repo_at(root)):
        await index.until_equal(root)
        published = len(index.published)
        (root / ".git/index.lock").touch()
        save(root, "a.md", "half of a checkout\n")
        asked = index.asked.total()
        with anyio.move_on_after(1.0):
            await index.until(lambda: index.asked["publish"] > published, patience=10)
        assert (len(index.published), index.asked.total()) == (published, asked)
        save(root, "a.md", "a whole checkout\n")
        (root / ".git/index.lock").unlink()
        await index.until_equal(root)
        assert index.contents["memory", "a.md"] == b"a whole checkout\n"


ON_FEW_WATCHES = """
import anyio, sys
from pathlib import Path
from tests.support.watching import MemoryIndex, repo_at, watching

async def main(root):
    index = MemoryIndex()
    async with watching(index, repo_at(root), poll_interval_s=0.1) as watcher:
        await index.until(lambda: index.states[-1:] == ["polling"])
        (root / "d7" / "last.md").write_text("saved without a watch\\n")
        await index.until_equal(root)
        print(watcher.trouble())

anyio.run(main, Path(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="inotify's limits")
def test_where_the_kernel_really_has_no_watches_left(tmp_path: Path) -> None:
    """A user namespace has its own limit, which can be made small without harm to the machine."""
    limited = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    limit = "echo 4 > /proc/sys/user/max_inotify_watches"
    if not shutil.which("unshare") or subprocess.run([*limited, limit], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces cannot be had here")
    for number in range(8):
        save(tmp_path, f"d{number}/x.md")
    command = [*limited, f'{limit}; exec "$0" -c "$1" "$2"', sys.executable, ON_FEW_WATCHES, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=os.environ)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("no events: ")
