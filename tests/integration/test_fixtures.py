"""The shared servers give each test a world of its own."""

import asyncpg
import nats as client


async def _tables(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("CREATE TABLE mark (v vector(3))")
        count: int = await connection.fetchval("SELECT count(*) FROM pg_tables WHERE tablename = 'mark'")
        return count
    finally:
        await connection.close()


async def test_a_database_is_fresh(postgres: str) -> None:
    assert await _tables(postgres) == 1


async def test_another_database_is_fresh_too(postgres: str) -> None:
    assert await _tables(postgres) == 1


async def _streams(url: str) -> list[str]:
    connection = await client.connect(url)
    try:
        jetstream = connection.jetstream()
        await jetstream.add_stream(name="MARK", subjects=["mark"])
        return [str(stream.config.name) for stream in await jetstream.streams_info()]
    finally:
        await connection.close()


async def test_a_jetstream_is_fresh(nats: str) -> None:
    assert await _streams(nats) == ["MARK"]


async def test_another_jetstream_is_fresh_too(nats: str) -> None:
    assert await _streams(nats) == ["MARK"]
