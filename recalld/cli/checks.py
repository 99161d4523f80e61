"""What ``recalld doctor`` looks at. Each check returns what it found and, where that is bad, what to do."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import anyio
from anyio import to_thread

from recalld.bus.connection import connect
from recalld.bus.wire import Check, HealthRequest, RepoListRequest
from recalld.cli.connection import client_of
from recalld.embed.factory import make_embedder
from recalld.embedded.binaries import nats_server, postgres_bin
from recalld.embedded.state import holder_of
from recalld.errors import RecalldError, UnreachableError
from recalld.settings import Settings
from recalld.store.migrate import pending
from recalld.watch.defaults import ALWAYS, OUTPUT_DIRECTORIES

CHECK_TIMEOUT_S = 60.0
"""Longest that one check may take; loading a model from a slow disk is the slowest."""
LITTLE_SPACE, NO_SPACE = 2 << 30, 200 << 20
"""Bytes free below which Postgres may soon, or will very soon, be in trouble."""
MANY_DIRECTORIES = 200_000
"""Counting directories stops here."""
_OTHERS = 0o066
"""Permission of others to list or to change; root's Postgres, who is somebody else, must pass through."""
INOTIFY = Path("/proc/sys/fs/inotify/max_user_watches")


async def examine(settings: Settings) -> list[Check]:
    """Run all checks, each within its time; a check that breaks is a failed check."""
    checks: list[tuple[str, Callable[[Settings], Awaitable[Check]]]] = [
        ("python", _python),
        ("packages", _packages),
        ("state directory", _state_directory),
        ("disk space", _disk_space),
        ("daemon", _daemon),
        ("postgres", _postgres),
        ("nats", _nats),
        ("model", _model),
        ("repos", _repos),
        ("inotify", _inotify),
    ]
    return [await _timed(name, check, settings) for name, check in checks]


async def _timed(name: str, check: Callable[[Settings], Awaitable[Check]], settings: Settings) -> Check:
    begun = time.perf_counter()
    try:
        with anyio.fail_after(CHECK_TIMEOUT_S):
            found = await check(settings)
    except RecalldError as error:
        found = Check(name=name, status="failed", detail=error.message, suggestion=error.suggestion)
    except TimeoutError:
        found = Check(name=name, status="failed", detail=f"no answer within {CHECK_TIMEOUT_S:g} s")
    except OSError as error:
        found = Check(name=name, status="failed", detail=str(error))
    return found.model_copy(update={"name": name, "took_ms": (time.perf_counter() - begun) * 1e3})


def _ok(detail: str) -> Check:
    return Check(name="", status="ok", detail=detail)


def _degraded(detail: str, suggestion: str) -> Check:
    return Check(name="", status="degraded", detail=detail, suggestion=suggestion)


def _failed(detail: str, suggestion: str) -> Check:
    return Check(name="", status="failed", detail=detail, suggestion=suggestion)


async def _python(settings: Settings) -> Check:
    words = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.platform not in ("linux", "darwin"):
        return _degraded(words, "recalld is tested on Linux and macOS")
    return _ok(words)


async def _packages(settings: Settings) -> Check:
    """The servers to embed, where the settings name none of one's own; and the faster runtime."""
    found = []
    if settings.store.dsn is None:
        found.append(f"Postgres in {postgres_bin()}")
    if not settings.bus.servers:
        found.append(f"NATS server {nats_server()}")
    if settings.embed.model == "minilm" and settings.embed.runtime != "onnx":
        found.append("OpenVINO" if find_spec("openvino") else "no OpenVINO (ONNX Runtime is used)")
    return _ok("\n".join(found) or "none needed: servers of your own")


async def _state_directory(settings: Settings) -> Check:
    path = settings.node.state_dir.expanduser().absolute()
    existing = next(place for place in (path, *path.parents) if place.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return _failed(f"{path} cannot be written", "set node.state_dir to a directory of this user")
    if existing == path and path.stat().st_mode & _OTHERS:
        return _degraded(f"{path} is open to other users", f"chmod go-rw {path}")
    return _ok(str(path) if existing == path else f"{path} (will be made)")


async def _disk_space(settings: Settings) -> Check:
    path = settings.node.state_dir.expanduser().absolute()
    existing = next(place for place in (path, *path.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    words = f"{free / (1 << 30):.1f} GiB free at {existing}"
    if free < NO_SPACE:
        return _failed(words, "free some space, or move node.state_dir")
    if free < LITTLE_SPACE:
        return _degraded(words, "free some space: Postgres stops when the disk is full")
    return _ok(words)


async def _daemon(settings: Settings) -> Check:
    holder = holder_of(settings.node.state_dir)
    if holder is None and not settings.bus.servers:
        return _ok("not running (`recalld run` starts it)")
    try:
        async with client_of(settings) as client:
            health = await client.health(HealthRequest())
    except UnreachableError as error:
        if holder is not None:
            raise
        return _ok(f"none answers ({error.message})")
    who = f"pid {holder.pid}, " if holder else ""
    status = "ok" if health.state == "ready" else str(health.state)
    advice = "" if status == "ok" else "`recall health` says what is missing"
    return Check(name="", status=status, detail=f"{who}{health.node} is {health.state}", suggestion=advice)


async def _postgres(settings: Settings) -> Check:
    if settings.store.dsn is None:
        return _ok("embedded: starts and stops with the daemon")
    missing = await pending(settings.store.dsn.get_secret_value())
    if missing:
        return _ok(f"reachable; {len(missing)} migrations to apply (the next start does it)")
    return _ok("reachable, the schema is up to date")


async def _nats(settings: Settings) -> Check:
    if not settings.bus.servers:
        return _ok("embedded: starts and stops with the daemon")
    connection = await connect(settings.bus, name="recalld doctor")
    try:
        detail = f"reachable, messages up to {connection.max_payload >> 10} KiB"
    finally:
        await connection.aclose()
    return _ok(detail)


async def _model(settings: Settings) -> Check:
    embedder = await make_embedder(settings.embed, settings.node.cache_dir)
    try:
        begun = time.perf_counter()
        await embedder.embed_query("does it work?")
        took = (time.perf_counter() - begun) * 1e3
    finally:
        await embedder.aclose()
    words = f"{embedder.name}, {embedder.dimension} dimensions, a query in {took:.1f} ms"
    if embedder.name == "hashing":
        return _degraded(words, "hashing knows no meaning: it is for tests")
    return _ok(words)


async def _repos(settings: Settings) -> Check:
    places = await _repo_paths(settings)
    if not places:
        return _ok("none yet: `recall repo add PATH` adds one")
    bad = [str(place) for place in places if not (place.is_dir() and os.access(place, os.R_OK | os.X_OK))]
    if bad:
        return _failed(
            f"cannot be read: {', '.join(bad)}",
            "mount it, or mend its permissions; until then nothing is dropped from the index",
        )
    return _ok(f"{len(places)} readable")


async def _inotify(settings: Settings) -> Check:
    if sys.platform != "linux" or settings.watch.mode == "poll":
        return _ok("not needed")
    limit = await to_thread.run_sync(_watch_limit)
    places = await _repo_paths(settings)
    count = await to_thread.run_sync(_count_directories, places)
    words = f"{count:,} directories to watch, {limit:,} watches allowed"
    if count > limit * 0.8:
        return _degraded(words, f"raise fs.inotify.max_user_watches to {count * 2}, or set watch.mode to poll")
    return _ok(words)


async def _repo_paths(settings: Settings) -> list[Path]:
    """The directories of this node: those of the settings, and those that a running daemon was told to watch."""
    places = {repo.path.expanduser().absolute() for repo in settings.repos}
    if holder_of(settings.node.state_dir) is not None:
        async with client_of(settings) as client:
            reply = await client.repo_list(RepoListRequest(node=settings.node.name))
        places |= {Path(repo.path) for repo in reply.repos}
    return sorted(places)


def _watch_limit() -> int:
    return int(INOTIFY.read_text())


def _count_directories(places: list[Path]) -> int:
    return sum(1 for _ in islice((directory for place in places for directory in _below(place)), MANY_DIRECTORIES))


def _below(root: Path) -> Iterator[str]:
    for directory, names, _ in os.walk(root):
        names[:] = [name for name in names if name.lower() not in ALWAYS | OUTPUT_DIRECTORIES]
        yield directory
