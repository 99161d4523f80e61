"""Spans: a daemon sends what it did to a collector, with the names of the trace in its replies."""

from __future__ import annotations

from pathlib import Path

from recalld.bus.client import RecallClient
from tests.support.collector import collector
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.repos import on_disk
from tests.support.waiting import until, until_indexed


async def test_asking_searching_and_indexing_are_traced(tmp_path: Path) -> None:
    (tmp_path / "rates.md").write_text("# Rates\n\nEach client may send ninety requests a minute.\n")
    with short_directory() as directory, collector() as collected:
        sent = {"RECALLD_TRACING__ENDPOINT": collected.url, "RECALLD_TRACING__EVERY_S": "0.1"}
        async with running(directory / "state", **sent) as daemon, daemon.client("alice") as client:
            await client.repo_add(str(tmp_path), name="memory")
            await until_indexed(client, "memory", on_disk(tmp_path))
            await _asked(client)

            async def all_there() -> bool:
                wanted = {"ask", "search", "ingest", "commit", "lookup", "retrieve", "remember"}
                return wanted <= {span.name for span in list(collected.spans)}

            await until(all_there)
        asked, again = collected.named("ask")[:2]
        below = collected.below(asked)
        assert {"session", "lookup", "retrieve", "evidence", "answer", "check", "remember"} <= below
        assert {"lookup", "serve"} <= collected.below(again) and "retrieve" not in collected.below(again)
        [retrieve, *_] = [span for span in collected.named("retrieve") if span.parent_span_id == asked.span_id]
        assert {"embed", "dense", "lexical", "trust"} <= collected.below(retrieve)
        assert {attribute.key: attribute.value.string_value for attribute in asked.attributes} == {"agent": "alice"}
        assert {"read", "embed", "commit"} <= collected.below(collected.named("ingest")[0])


async def _asked(client: RecallClient) -> None:
    for source in ("retrieval", "memory"):
        reply = await client.ask("how many requests may a client send")
        assert reply.source == source
    await client.search("requests a minute")


async def test_a_collector_that_is_away_harms_nothing(tmp_path: Path) -> None:
    with short_directory() as directory:
        nobody = {"RECALLD_TRACING__ENDPOINT": "http://127.0.0.1:1/v1/traces", "RECALLD_TRACING__EVERY_S": "0.1"}
        async with running(directory / "state", **nobody) as daemon, daemon.client("alice") as client:
            assert (await client.health()).checks
        assert daemon.process is not None and daemon.process.returncode == 0
