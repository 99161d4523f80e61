"""A daemon with optional judges: it answers by them, and goes on without one that it cannot load."""

from __future__ import annotations

import json
from pathlib import Path

from recalld.model import State
from tests.support.daemon import running
from tests.support.directories import short_directory
from tests.support.onnx_models import WORD, write_model
from tests.support.repos import on_disk
from tests.support.waiting import until_indexed


def _memory(directory: Path) -> Path:
    root = directory / "memory"
    root.mkdir()
    (root / "wall.md").write_text("# Wall\n\nThe harbour wall was mended in spring, the harbour master says.\n")
    (root / "animals.md").write_text(f"# Animals\n\nThe {WORD} and the {WORD}, beside the harbour wall.\n")
    return root


async def test_a_cross_encoder_orders_what_a_daemon_finds(tmp_path: Path) -> None:
    options = json.dumps({"path": str(write_model(tmp_path))})
    with short_directory() as directory:
        root = _memory(directory)
        async with running(
            directory / "state", RECALLD_RECALL__RERANKER="cross_encoder", RECALLD_RECALL__RERANKER_OPTIONS=options
        ) as daemon:
            async with daemon.client() as client:
                await client.repo_add(str(root))
                await until_indexed(client, "memory", on_disk(root))
                reply = await client.search("harbour wall")
                while reply.state is State.WARMING:
                    reply = await client.search("harbour wall")
            assert reply.state is State.READY, reply.notes
            scores = {hit.path: hit.scores for hit in (*reply.hits, *reply.withheld)}
            assert scores["animals.md"]["cross_encoder"] > scores["wall.md"]["cross_encoder"]
            assert "maxsim" in scores["wall.md"]


async def test_judges_that_do_not_exist_end_no_daemon_and_are_named_in_each_reply() -> None:
    with short_directory() as directory:
        root = _memory(directory)
        async with running(
            directory / "state", RECALLD_RECALL__RERANKER="nosuch", RECALLD_TRUST__ENTAILMENT="neither"
        ) as daemon:
            async with daemon.client() as client:
                await client.repo_add(str(root))
                await until_indexed(client, "memory", on_disk(root))
                reply = await client.search("harbour wall")
                while reply.state is State.WARMING:
                    reply = await client.search("harbour wall")
            assert reply.hits
            assert reply.state is State.DEGRADED
            assert any("nosuch cannot be used" in note for note in reply.notes)
