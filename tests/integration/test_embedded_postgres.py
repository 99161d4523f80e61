"""The embedded Postgres: private, durable, and not shaken by what a killed daemon leaves."""

import os
import pwd
import signal
import stat
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import asyncpg
import psutil
import pytest
from anyio import to_thread

from recalld.embedded import postgres as module
from recalld.embedded import server as server_module
from recalld.embedded.postgres import EmbeddedPostgres
from recalld.embedded.server import ServerEvent
from recalld.errors import ConfigError, DependencyError
from tests.support.directories import short_directory
from tests.support.embedded import ended, owner, python_for

AS_ROOT = os.geteuid() == 0


async def _query(dsn: str, sql: str) -> object:
    connection = await asyncpg.connect(dsn, timeout=5)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


@pytest.fixture(scope="module")
async def prototype(anyio_backend: str) -> AsyncIterator[Path]:
    """A stopped server's state with one table in it, to be copied: initialising takes far longer."""
    with short_directory() as directory:
        async with await EmbeddedPostgres.start(directory) as server:
            await _query(server.dsn, "CREATE TABLE kept AS SELECT 'yes' AS value")
        yield directory


@contextmanager
def _copy(prototype: Path) -> Iterator[Path]:
    with short_directory() as directory:
        subprocess.run(["cp", "-a", "--reflink=auto", f"{prototype}/.", str(directory)], check=True)
        yield directory


@pytest.fixture(scope="module")
def looked_at(prototype: Path) -> Iterator[Path]:
    """The state directory of ``running``."""
    with _copy(prototype) as directory:
        yield directory


@pytest.fixture(scope="module")
async def running(looked_at: Path) -> AsyncIterator[EmbeddedPostgres]:
    """A running server, for tests that only look at it."""
    async with await EmbeddedPostgres.start(looked_at) as server:
        yield server


@pytest.fixture
def state(prototype: Path) -> Iterator[Path]:
    with _copy(prototype) as directory:
        yield directory


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ADOPT_S", 0.3)
    monkeypatch.setattr(EmbeddedPostgres, "stop_steps", ((signal.SIGINT, 0.2), (signal.SIGQUIT, 0.2)))


async def _is_kept(server: EmbeddedPostgres) -> bool:
    return await _query(server.dsn, "SELECT value FROM kept") == "yes"


async def test_a_first_start_makes_the_database_with_pgvector() -> None:
    with short_directory() as directory:
        (directory / "postgres" / "data.new").mkdir(parents=True)  # an initdb that was killed
        (directory / "postgres" / "data.new" / "PG_VERSION").touch()
        async with await EmbeddedPostgres.start(directory) as server:
            assert await _query(server.dsn, "SELECT '[1,2]'::halfvec(2) <=> '[1,2]'::halfvec(2)") == 0
            assert await _query(server.dsn, "SELECT current_database()") == "recalld"
        assert not list((directory / "postgres").glob("*.new"))


async def test_data_survives_a_restart_and_nothing_is_left_running(state: Path) -> None:
    async with await EmbeddedPostgres.start(state) as server:
        pid, dsn = server.pid, server.dsn
        family = psutil.Process(pid).children()
        assert await _is_kept(server)
    assert ended(pid)
    assert not [process for process in family if process.is_running()]
    assert not (state / "postgres" / "run").exists()
    async with await EmbeddedPostgres.start(state) as server:
        assert server.dsn == dsn
        assert await _is_kept(server)


async def test_it_is_private(looked_at: Path, running: EmbeddedPostgres) -> None:
    assert psutil.Process(running.pid).net_connections("inet") == []
    modes = {
        "postgres/run": 0o700,
        "postgres/run/.s.PGSQL.5432": 0o700,
        "postgres/data": 0o700,
        "credentials": 0o700,
        "credentials/postgres.json": 0o600,
    }
    assert {name: _mode(looked_at / name) for name in modes} == modes


@pytest.mark.parametrize("login", ["recalld:guessed", "recalld", "postgres"])
async def test_it_refuses_whoever_lacks_the_password(running: EmbeddedPostgres, login: str) -> None:
    address = running.dsn.split("@")[1]
    with pytest.raises(asyncpg.InvalidPasswordError):
        await _query(f"postgresql://{login}@{address}", "SELECT 1")


async def test_a_ctrl_c_in_the_terminal_is_not_for_it(running: EmbeddedPostgres) -> None:
    assert os.getsid(running.pid) == running.pid != os.getsid(0)


async def test_it_keeps_what_was_acknowledged(running: EmbeddedPostgres) -> None:
    for name in ("fsync", "synchronous_commit", "full_page_writes"):
        assert await _query(running.dsn, f"SHOW {name}") == "on"


@pytest.mark.skipif(not AS_ROOT, reason="only root needs another user for its Postgres")
async def test_as_root_the_server_runs_as_somebody_else_and_owns_only_its_data(
    looked_at: Path, running: EmbeddedPostgres
) -> None:
    uid = psutil.Process(running.pid).uids().real
    assert uid != 0
    home = looked_at / "postgres"
    assert {path.name for path in home.iterdir() if path.stat().st_uid == uid} == {"data", "run"}
    assert _mode(home) == 0o701  # may pass, not look


async def test_alter_system_wins_over_our_settings(state: Path) -> None:
    async with await EmbeddedPostgres.start(state) as server:
        await _query(server.dsn, "ALTER SYSTEM SET work_mem = '33MB'")
    async with await EmbeddedPostgres.start(state) as server:
        assert await _query(server.dsn, "SHOW work_mem") == "33MB"


async def test_an_orphan_is_adopted(state: Path) -> None:
    async with owner("postgres", state) as daemon:
        daemon.kill()
        assert not ended(daemon.server_pid)
        async with await EmbeddedPostgres.start(state) as server:
            assert server.pid == daemon.server_pid
            assert await _is_kept(server)
        assert ended(daemon.server_pid)


async def test_an_orphan_with_other_settings_is_replaced(state: Path) -> None:
    async with owner("postgres", state) as daemon:
        daemon.kill()
        async with await EmbeddedPostgres.start(state, settings={"work_mem": "7MB"}) as server:
            assert server.pid != daemon.server_pid
            assert ended(daemon.server_pid)
            assert await _query(server.dsn, "SHOW work_mem") == "7MB"


async def test_a_frozen_orphan_is_replaced(state: Path, impatient: None) -> None:
    async with owner("postgres", state) as daemon:
        daemon.kill()
        for process in (*psutil.Process(daemon.server_pid).children(), psutil.Process(daemon.server_pid)):
            process.suspend()
        async with await EmbeddedPostgres.start(state) as server:
            assert server.pid != daemon.server_pid
            assert ended(daemon.server_pid)
            assert await _is_kept(server)


async def test_a_frozen_backend_of_a_killed_server_is_cleared_away(state: Path) -> None:
    async with await EmbeddedPostgres.start(state) as server:
        connection = await asyncpg.connect(server.dsn)
        backend = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
        backend.suspend()
        os.kill(server.pid, signal.SIGKILL)
        await server.on_exit()
        assert not ended(backend.pid)
        async with await EmbeddedPostgres.start(state) as successor:
            assert await _is_kept(successor)
        assert ended(backend.pid)
        connection.terminate()


@pytest.mark.parametrize("pid", ["dead", "ours", "nonsense"])
async def test_a_stale_pid_file_is_no_obstacle(state: Path, pid: str) -> None:
    names = {"dead": "4194303", "ours": str(os.getpid()), "nonsense": "\x00?"}
    file = state / "postgres" / "data" / "postmaster.pid"
    data = state / "postgres" / "data"
    file.write_text(f"{names[pid]}\n{data}\n1700000000\n5432\n{state}/postgres/run\n\n    123 456\nready   \n")
    async with await EmbeddedPostgres.start(state) as server:
        assert await _is_kept(server)


async def test_a_killed_server_comes_back_under_the_same_address(state: Path) -> None:
    events: list[ServerEvent] = []
    back = anyio.Event()

    def report(event: ServerEvent) -> None:
        events.append(event)
        if event.state == "up":
            back.set()

    async with await EmbeddedPostgres.start(state) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.supervise, report)
        first = server.pid
        await _query(server.dsn, "INSERT INTO kept VALUES ('also') RETURNING value")
        os.kill(first, signal.SIGKILL)
        with anyio.fail_after(20):
            await back.wait()
        assert server.pid != first
        assert await _query(server.dsn, "SELECT count(*) FROM kept") == 2
        assert [(event.state, event.exit_status) for event in events] == [("down", -9), ("up", -9)]
        tasks.cancel_scope.cancel()


async def test_supervision_ends_with_an_orderly_stop(state: Path) -> None:
    server = await EmbeddedPostgres.start(state)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.supervise)
        await server.stop()
        await server.stop()
    with pytest.raises(DependencyError):
        _ = server.pid


async def test_a_server_that_cannot_come_back_is_given_up(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_PAUSES_S", (0.0, 0.01))
    async with await EmbeddedPostgres.start(state) as server:
        (state / "postgres" / "data" / "global" / "pg_control").unlink()
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(DependencyError, match="pg_control"), anyio.fail_after(20):
            await server.supervise()


async def test_a_lost_password_is_set_anew(state: Path) -> None:
    (state / "credentials" / "postgres.json").unlink()
    async with await EmbeddedPostgres.start(state) as server:
        assert await _is_kept(server)


async def test_a_wrong_password_says_what_to_do(state: Path) -> None:
    (state / "credentials" / "postgres.json").write_text('{"password": "guessed"}')
    with pytest.raises(DependencyError) as caught:
        await EmbeddedPostgres.start(state)
    assert "credentials/postgres.json" in caught.value.suggestion


async def test_data_of_another_version_is_refused(state: Path) -> None:
    (state / "postgres" / "data" / "PG_VERSION").write_text("16\n")
    with pytest.raises(ConfigError, match="16") as caught:
        await EmbeddedPostgres.start(state)
    assert "pg_upgrade" in caught.value.suggestion


async def test_a_failing_initdb_shows_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_INITDB", ("--locale-provider=none-such",))
    with short_directory() as directory, pytest.raises(DependencyError, match="none-such"):
        await EmbeddedPostgres.start(directory)


@pytest.fixture
def small_disk() -> Iterator[Path]:
    with short_directory() as directory:
        command = ["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(directory)]
        if not AS_ROOT or subprocess.run(command, check=False).returncode != 0:
            pytest.skip("mounting a small file system is not allowed here")
        yield directory
        subprocess.run(["umount", str(directory)], check=True)


async def test_a_full_disk_is_named(small_disk: Path) -> None:
    with pytest.raises(DependencyError, match="No space left") as caught:
        await EmbeddedPostgres.start(small_disk)
    assert "disk space" in caught.value.suggestion


@pytest.fixture(params=["a" * 100, "with space, comma 'quote' % and ü"], ids=["long", "odd"])
def odd_path(state: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    with short_directory() as directory:
        yield state.rename(directory / request.param)
        (directory / request.param).rename(state)


async def test_any_path_will_do(odd_path: Path) -> None:
    async with await EmbeddedPostgres.start(odd_path) as server:
        assert await _is_kept(server)
        elsewhere = _sockets_of(server)
        assert _mode(elsewhere) == 0o700
    os.symlink(odd_path, elsewhere)  # it is gone, and now by somebody else, in a directory that all may write to
    try:
        with pytest.raises(ConfigError, match="not a private directory"):
            await EmbeddedPostgres.start(odd_path)
    finally:
        os.unlink(elsewhere)


def _sockets_of(server: EmbeddedPostgres) -> Path:
    return Path(parse_qs(urlsplit(server.dsn).query)["host"][0])


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(not AS_ROOT, reason="the other tests already run as an ordinary user")
async def test_it_works_for_an_ordinary_user() -> None:
    try:
        python_for("nobody")
    except LookupError as error:
        pytest.skip(str(error))
    with short_directory() as directory:
        record = pwd.getpwnam("nobody")
        os.chown(directory, record.pw_uid, record.pw_gid)
        async with owner("postgres", directory, user="nobody") as daemon:
            assert psutil.Process(daemon.server_pid).uids().real == record.pw_uid
            assert _mode(directory) == 0o700
        assert ended(daemon.server_pid)


async def test_a_start_that_is_cancelled_leaves_nothing_running(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spawned = anyio.Event()
    monkeypatch.setattr(module, "is_ready", lambda *_: spawned.set())  # never ready
    started: list[EmbeddedPostgres] = []

    async def start() -> None:
        started.append(await EmbeddedPostgres.start(state))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(start)
        await spawned.wait()
        tasks.cancel_scope.cancel()
    assert not started
    assert not await to_thread.run_sync(_working_in, state / "postgres" / "data")


def _working_in(data: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and Path(process.cwd()) == data:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found
