"""What the dashboard shows, as data: text, rates, health, events, answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recalld.bus import wire
from recalld.errors import UsageError
from recalld_tui.model import events, recall, text
from recalld_tui.model.health import Level, diagnose, nodes
from recalld_tui.model.moments import moment
from recalld_tui.model.rates import Counters, Meter

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("[red]x[/red]", "[red]x[/red]"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\u202eb\u2028c\U000e0041", "a\ufffdb\ufffdc\ufffd"),
        ("a\tb\r\n", "a    b\ufffd\n"),
        ("Grüße, 漢字 🙂", "Grüße, 漢字 🙂"),
    ],
)
def test_text_from_outside_is_shown_character_by_character(given: str, shown: str) -> None:
    assert text.clean(given) == shown


def test_short_forms() -> None:
    assert [text.span(s) for s in (-5, 59, 60, 7_200, 200_000)] == ["0 s", "59 s", "1 min", "2 h", "2 d"]
    assert [text.milliseconds(m) for m in (0.4, 42, 1_500, 90_000)] == ["0.4 ms", "42 ms", "1.5 s", "2 min"]
    assert text.age(None, NOW) == "never" and text.age(NOW - timedelta(hours=3), NOW) == "3 h ago"
    assert text.ahead(NOW + timedelta(hours=3), NOW) == "in 3 h" and text.ahead(NOW, NOW) == "now"
    assert text.cut("a long line", 6) == "a lon…" and text.cut_path("a/long/path.md", 8) == "…path.md"
    assert text.size(3 << 20) == "3 MiB" and text.counted(2, "memo") == "2 memos"


def test_bars_are_as_long_as_their_room() -> None:
    assert text.spark([0, 1, 2, 4], 6) == "   ▂▄█"
    assert text.spark([5, 1], 1) == "█" and text.spark([], 3) == "   "
    assert [text.bar(share, 4) for share in (0, 0.5, 1, 2)] == ["    ", "██  ", "████", "████"]
    assert text.bar(1 / 32, 4) == "▏   "


def test_a_meter_counts_a_second_and_forgets() -> None:
    meter = Meter(slice_s=2.0, kept=3)
    for at, value in ((10.0, 0.5), (11.9, 2.0), (12.0, 1.0)):
        meter.add(at, value)
    assert meter.rates(14.0) == [0.0, 1.0, 0.5] and meter.tops(14.0) == [0.0, 2.0, 1.0]
    assert meter.rates(13.9) == [0.0, 0.0, 1.0], "a slice that is not over is no rate yet"
    for at in range(1_000):
        meter.add(float(at))
    assert len(meter._slices) <= 6


def _service(node: str, requests: int, busy_ms: float, errors: int = 0) -> wire.ServiceView:
    verb = wire.VerbView(requests=requests, errors=errors, busy_ms=busy_ms)
    return wire.ServiceView(node=node, version="1", verbs={"search": verb})


def test_counters_of_services_become_paces() -> None:
    counters = Counters()
    assert counters.look((_service("a", 100, 1_000.0),), 0.0) is None
    pace = counters.look((_service("a", 110, 1_200.0, 1), _service("b", 10, 400.0)), 2.0)
    assert pace is not None and (pace.rate, pace.errors, pace.latency_ms) == (10.0, 0.5, 30.0)
    restarted = counters.look((_service("a", 4, 40.0),), 4.0)
    assert restarted is not None and (restarted.rate, restarted.latency_ms) == (2.0, 10.0)
    idle = counters.look((_service("a", 4, 40.0),), 6.0)
    assert idle is not None and idle.latency_ms is None and list(counters.rates) == [10.0, 2.0, 0.0]


def _health(*checks: wire.Check, state: str = "ready") -> wire.HealthReply:
    return wire.HealthReply(
        state=state, node="n", version="1", roles=("serve",), started_at=NOW, rss_bytes=1, checks=checks
    )


def _repo(**changed: object) -> wire.RepoStats:
    facts = {
        "name": "memory", "path": "/m", "node": "n", "state": "watching", "documents": 3, "chunks": 9, "skipped": 0,
        "failed": 0, "forgotten": 0, "newest_indexed_at": NOW, "indexed_commit": None, "last_scan_at": NOW,
    }  # fmt: skip
    return wire.RepoStats.model_validate(facts | changed)


def _stats(*repos: wire.RepoStats, pending: int = 0, failed: int = 0, stale: int = 0, at: datetime = NOW):  # type: ignore[no-untyped-def]
    serving = wire.GenerationStats(id=1, fingerprint="f", embedder="e", state="serving", documents=3, total=3)
    return wire.StatsReply(
        repos=repos,
        generations=(serving,),
        freshness=wire.Freshness(newest_indexed_at=at, pending=pending, failed=failed, stale=stale),
        findings=(),
        database_bytes=1,
        cached_embeddings=1,
        calibration=wire.CalibrationView(fitted_at=NOW, checked_at=NOW, documents=3),
    )


def test_a_daemon_that_is_well_gives_no_reason() -> None:
    diagnosis = diagnose(_health(wire.Check(name="nats", status="ok")), _stats(_repo()), None, NOW)
    assert (diagnosis.level, diagnosis.reasons, diagnosis.word) == (Level.HEALTHY, (), "Healthy")


@pytest.mark.parametrize(
    ("health", "stats", "level", "words"),
    [
        (_health(wire.Check(name="postgres", status="failed")), None, Level.UNWELL, "postgres failed"),
        (_health(wire.Check(name="embedder", status="warming")), None, Level.WARMING, "embedder warming"),
        (_health(state="degraded"), None, Level.ATTENTION, "degraded"),
        (_health(), _stats(), Level.ATTENTION, "no repo"),
        (_health(), _stats(_repo(state="offline")), Level.UNWELL, "memory is offline"),
        (_health(), _stats(_repo(), failed=2), Level.ATTENTION, "2 files could not be indexed"),
        (_health(), _stats(_repo(), stale=1), Level.ATTENTION, "1 file on disk"),
        (_health(), _stats(_repo(), pending=3, at=NOW - timedelta(minutes=5)), Level.ATTENTION, "3 files waiting"),
        (_health(), _stats(_repo(), pending=3), Level.HEALTHY, ""),
    ],
)
def test_what_is_wrong_is_said(
    health: wire.HealthReply, stats: wire.StatsReply | None, level: Level, words: str
) -> None:
    diagnosis = diagnose(health, stats, None, NOW)
    assert diagnosis.level is level
    assert words in " ".join(reason.words for reason in diagnosis.reasons)


def test_the_worst_reason_comes_first_and_not_being_calibrated_is_a_note() -> None:
    stats = _stats(_repo(state="offline"), failed=1).model_copy(update={"calibration": None})
    diagnosis = diagnose(_health(wire.Check(name="embedder", status="warming")), stats, None, NOW)
    assert [reason.level for reason in diagnosis.reasons] == [
        Level.UNWELL,
        Level.ATTENTION,
        Level.WARMING,
        Level.NOTE,
    ]


def test_nodes_are_those_that_anything_is_known_of() -> None:
    known = nodes((_service("b", 3, 1.0),), _stats(_repo(node="a"), _repo(name="other", node="b")), None)
    assert known == [("a", "watches memory"), ("b", "answers (3 requests), watches other")]


def _event(topic: str, number: int = 0, **data: object) -> wire.Event:
    return wire.Event(topic=topic, at=NOW + timedelta(seconds=number), node="n", data=data)


def test_a_feed_filters_by_all_words_and_stays_bounded() -> None:
    feed = events.Feed()
    for number in range(events.KEPT + 10):
        feed.add(_event("indexed" if number % 2 else "failed", number, repo="memory", path=f"d/{number}.md"))
    assert feed.total == events.KEPT + 10 and len(feed.kept) == events.KEPT
    feed.filter("FAILED d/100.")
    assert [event.data["path"] for event in feed.shown] == ["d/100.md"]
    feed.add(_event("failed", path="d/100.mdx", repo="memory"))
    feed.add(_event("indexed", path="d/100.md", repo="memory"))
    assert feed.passed == 2 and len(feed.shown) == 2
    feed.filter("")
    assert len(feed.shown) == events.KEPT


def test_an_event_is_told_in_a_line_and_whole() -> None:
    event = _event("indexed", repo="m", path="a\x1b[31m.md", lag_s=0.25, seq=3, outcome=None)
    assert events.place(event) == "m:a\ufffd[31m.md" and events.facts(event) == "lag_s=0.250 seq=3"
    assert ("lag_s", "0.250") in events.detail(event) and ("outcome", "None") in events.detail(event)
    done = _event("job.done", name="lint", result={"repos": {"m": {"errors": 2}}, "paths": ["a", "b"]})
    assert events.place(done) == "lint" and events.facts(done) == "result=repos m errors 2, paths a, b"
    assert ("name", "lint") in events.detail(done)


def test_a_file_is_followed_from_the_disk_to_a_search() -> None:
    journeys = events.Journeys()
    assert journeys.add(_event("job.done", name="lint")) is None
    journeys.add(_event("indexed", 2, repo="m", path="a.md", lag_s=0.5, seq=7))
    assert journeys.waiting == 7
    journeys.answered(6, NOW + timedelta(seconds=3))
    assert journeys.waiting == 7
    journeys.answered(7, NOW + timedelta(seconds=3))
    [journey] = journeys.newest(5)
    assert [(step.name, step.after) for step in journey.steps()] == [
        ("seen and queued", None),
        ("indexed", timedelta(seconds=0.5)),
        ("recallable", timedelta(seconds=1)),
    ]
    seen, indexed, recallable = (step.words for step in journey.steps())
    assert seen == f"seen and queued at {text.clock_time(NOW + timedelta(seconds=1.5))}"
    assert (indexed, recallable) == ("indexed 500 ms later", "recallable 1.0 s later")
    assert journeys.waiting == 0 and journey.lag_s == 0.5
    for number in range(100):
        journeys.add(_event("deleted", path=str(number), repo="m"))
    assert len(list(journeys.newest(1_000))) == events.FILES_KEPT


def _hit(**changed: object) -> wire.Hit:
    facts = {
        "id": "4", "repo": "m", "path": "a.md", "title": "A", "kind": "note", "lines": (3, 4), "heading": ("A", "B"),
        "text": "one\ntwo \x1b[2J", "score": 0.5, "confidence": 0.93, "verdict": "ok",
        "validity": {"status": "accepted"},
        "provenance": {
            "content_hash": "ab" * 32, "commit": None, "indexed_at": NOW, "first_indexed_at": NOW, "seq": 1,
            "agent": "x",
        },
    }  # fmt: skip
    return wire.Hit.model_validate(facts | changed)


def _reply(**changed: object) -> wire.SearchReply:
    facts = {
        "query": "q?", "abstained": False, "reason": "", "gap_warning": False, "calibrated": True, "state": "ready",
        "receipt": "r1", "freshness": {"newest_indexed_at": NOW, "pending": 1, "failed": 0, "stale": 1},
        "took_ms": 3.0, "hits": (_hit(),), "withheld": (_hit(id="5", verdict="expired"),),
        "trace": (
            {"stage": "lexical", "took_ms": 1, "entered": 9, "left": 2, "ranking": (("9", 4.0), ("4", 3.0))},
            {"stage": "trust", "took_ms": 1, "entered": 3, "left": 1, "ranking": (("4", 0.9),),
             "dropped": (("5", "expired"), ("9", "expired"))},
        ),
    }  # fmt: skip
    return wire.SearchReply.model_validate(facts | changed)


def test_an_answer_is_told_in_a_line() -> None:
    assert recall.summary(_reply()) == "1 hit, 1 withheld, 2 files not indexed yet"
    assert recall.summary(_reply(abstained=True, reason="a gap\nhere")) == "I don't know: a gap here"
    assert "not calibrated, warming" in recall.summary(_reply(calibrated=False, state="warming"))


def test_evidence_says_where_from_and_how_far_to_trust_it() -> None:
    said = recall.evidence(_hit(reason="both say so"), _reply())
    assert said.startswith("> one\n> two \ufffd[2J\n\nSource: m:a.md:3-4 (sha256 abab")
    assert "Verdict: ok, 93% sure; both say so" in said
    assert "Status: accepted" in said and said.endswith("Receipt: r1\nQuestion: q?\n")


def test_a_trace_tells_of_each_stage_what_it_did_with_a_passage() -> None:
    reply = _reply()
    assert [(one.stage, one.rank, one.dropped) for one in recall.passages(reply, "4")] == [
        ("lexical", 2, ""),
        ("trust", 1, ""),
    ]
    assert [(one.rank, one.dropped) for one in recall.passages(reply, "5")] == [(None, ""), (None, "expired")]
    lexical, trust = recall.stages(reply)
    assert lexical.best == (("passage 9", 4.0), ("a.md:3", 3.0)) and trust.dropped == "2 expired"


def test_moments_are_ends_of_days_or_nothing() -> None:
    assert moment(" ", NOW) is None
    assert moment("2024-07-15", NOW) == datetime(2024, 7, 15, 23, 59, 59, 999_999, tzinfo=UTC)
    with pytest.raises(UsageError, match="moment"):
        moment("soon", NOW)
