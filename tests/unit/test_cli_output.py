"""What people see: hits, abstention, states, and text from outside that must not act on the terminal."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from recalld.bus import wire
from recalld.cli import output
from recalld.cli.search import place, show
from recalld.cli.status import show_checks, show_stats
from recalld.model import State

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
FRESH = wire.Freshness(newest_indexed_at=NOW, pending=0, failed=0, stale=0)
PROVENANCE = wire.Provenance(
    content_hash="ab", commit=None, indexed_at=NOW, first_indexed_at=NOW, seq=7, agent="watcher"
)


def hit(**changes: Any) -> wire.Hit:
    values: dict[str, Any] = {
        "id": "12",
        "repo": "memory",
        "path": "adr/0007.md",
        "title": "The queue",
        "kind": "decision",
        "lines": (3, 9),
        "heading": ("The queue", "Why"),
        "text": "We chose NATS over Redis.\n",
        "score": 0.5,
        "confidence": None,
        "verdict": "unverified",
        "validity": wire.Validity(),
        "provenance": PROVENANCE,
    }
    return wire.Hit(**(values | changes))


def reply(*hits: wire.Hit, **changes: Any) -> wire.SearchReply:
    values: dict[str, Any] = {
        "query": "which queue",
        "abstained": not hits,
        "reason": "nothing is calibrated yet" if hits else "no memory was retrieved",
        "gap_warning": not hits,
        "calibrated": False,
        "state": State.READY,
        "receipt": "r",
        "freshness": FRESH,
        "took_ms": 3.0,
        "hits": hits,
    }
    return wire.SearchReply(**(values | changes))


def printed(answer: wire.SearchReply, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width, highlight=False)
    show(answer, console)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_a_hit_says_where_it_stands_how_sure_it_is_and_what_its_file_declares() -> None:
    validity = wire.Validity(valid_until="2026-06-30", supersedes=("adr/0003",))
    text = printed(reply(hit(validity=validity)))
    assert "memory:adr/0007.md:3-9" in text
    assert "unverified, score 0.500" in text
    assert "The queue > Why" in text
    assert "the file says: valid until 2026-06-30, supersedes adr/0003" in text
    assert "We chose NATS over Redis." in text
    assert "nothing is calibrated yet" in text


def test_a_calibrated_hit_gives_its_confidence_and_no_excuse() -> None:
    text = printed(reply(hit(confidence=0.87, verdict="ok"), calibrated=True))
    assert "ok, 87% sure" in text
    assert "calibrated" not in text


def test_abstention_is_said_plainly() -> None:
    assert "I don't know: no memory was retrieved." in printed(reply())


def test_states_notes_and_a_stale_index_are_named() -> None:
    late = wire.Freshness(newest_indexed_at=NOW, pending=5, failed=2, stale=1)
    text = printed(reply(hit(), state=State.WARMING, notes=("the model is being loaded",), freshness=late), width=200)
    assert text.startswith("warming: ")
    assert "note: the model is being loaded" in text
    assert "5 files waiting" in text
    assert "2 files failed" in text
    assert "note:" not in printed(reply(hit()))


def test_the_trace_shows_each_stage() -> None:
    stage = wire.TraceStage(stage="fuse", took_ms=1.25, entered=100, left=50, dropped=(("9", "near-duplicate"),))
    text = printed(reply(hit(), trace=(stage,)))
    assert "fuse" in text
    assert "1: near-duplicate" in text


@pytest.mark.parametrize("width", [24, 40, 200])
def test_a_narrow_terminal_wraps_and_loses_nothing(width: int) -> None:
    text = printed(reply(hit(path="a-rather-long-directory/and-a-long-file-name.md")), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "a-rather-long-directory/and-a-long-file-name.md" in text.replace("\n", "")


def test_text_from_a_memory_cannot_act_on_the_terminal() -> None:
    nasty = hit(text="\x1b[2J\x1b]0;owned\x07 [bold]not markup[/] [/oops] \u202e", title="[red]x", path="a[b].md")
    text = printed(reply(nasty))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "[bold]not markup[/] [/oops]" in text
    assert "[red]x" in text
    assert "memory:a[b].md:3-9" in text


def test_a_long_text_is_cut_visibly() -> None:
    text = printed(reply(hit(text="\n".join(f"line {n}" for n in range(40)))))
    assert "line 4" in text
    assert "line 5" not in text
    assert "…" in text


def test_place_is_what_an_editor_can_open() -> None:
    assert place(hit()) == "memory:adr/0007.md:3-9"


def test_findings_and_failed_checks_come_with_advice() -> None:
    console = Console(file=StringIO(), width=160, highlight=False)
    show_checks([wire.Check(name="nats", status="failed", detail="gone", suggestion="start it")], console)
    finding = wire.FindingView(
        repo="memory",
        path="broken.md",
        code="bad-frontmatter",
        severity="error",
        message="unclosed quote",
        hint="close it",
        line=3,
        key="title",
        attempts=1,
        first_seen=NOW,
        last_seen=NOW,
    )
    stats = wire.StatsReply(
        repos=(), generations=(), freshness=FRESH, findings=(finding,), database_bytes=2048, cached_embeddings=1
    )
    show_stats(stats, console)
    assert isinstance(console.file, StringIO)
    text = console.file.getvalue()
    for words in ("gone", "start it", "memory:broken.md:3", "unclosed quote", "close it", "recall repo add"):
        assert words in text


@pytest.mark.parametrize(
    ("past", "words"), [(5, "5 s ago"), (90, "2 min ago"), (7_200, "2 h ago"), (200_000, "2 d ago"), (-5, "0 s ago")]
)
def test_ages(past: float, words: str) -> None:
    assert output.age(NOW - timedelta(seconds=past), NOW) == words


def test_sizes() -> None:
    assert [output.size(n) for n in (0, 1023, 1024, 5 << 20, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1 KiB",
        "5 MiB",
        "3.0 GiB",
    ]
