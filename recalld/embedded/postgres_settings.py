"""How the embedded Postgres is tuned: one daemon's index on a machine that has other things to do.

Written to ``recalld.conf`` at each start. What a user sets by ``ALTER SYSTEM`` still wins over it; what must never
differ (no TCP, where the socket is) is given on the command line.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

SETTINGS: dict[str, str] = {
    # Memory. 20,000 chunks are about 16 MB of halfvec and 160 MB of token bits, and the kernel caches beside it.
    "shared_buffers": "128MB",
    "effective_cache_size": "512MB",  # a hint for the planner, not an allocation
    "work_mem": "16MB",  # BM25 aggregates and top-k sorts stay in memory up to about 100,000 chunks
    "maintenance_work_mem": "128MB",  # an HNSW graph of about 60,000 x 384 dimensions is built without spilling
    "max_connections": "50",  # a pool of 8 a node; room for a few nodes and a psql
    # Writing. The index can be rebuilt, but what was acknowledged must stay: fsync and synchronous_commit keep their
    # defaults, which is what makes a kill -9 harmless.
    "wal_level": "minimal",  # nobody replicates from here; index builds then skip the log
    "max_wal_senders": "0",  # required by wal_level = minimal
    "max_wal_size": "512MB",  # bounds the disk it takes, and the recovery after a crash to seconds
    "min_wal_size": "64MB",
    "checkpoint_timeout": "15min",  # fewer full-page images; max_wal_size still bounds recovery
    # Planning.
    "jit": "off",  # queries take milliseconds, compiling one takes tens
    "random_page_cost": "1.1",  # SSD or cached
    "autovacuum_naptime": "15s",  # until the tables are counted after a bulk, plans are made for empty ones: 2 to 4 x
    # Safety and order.
    "ssl": "off",  # unix socket only
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "idle_in_transaction_session_timeout": "5min",  # a client that hangs must not hold back vacuum for ever
    "cluster_name": "recalld",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    "log_min_error_statement": "panic",  # statements carry people's memories; errors reach the daemon's own log
}

_SHM_NEEDED = 256 << 20
_HEAD = """# Written by recalld at each start. To change a setting, use ALTER SYSTEM.
include = 'data/postgresql.conf'"""


def render(settings: Mapping[str, str], shm: Path = Path("/dev/shm")) -> str:
    """Return the file's text. ``settings`` win; ``shm`` is where POSIX shared memory is backed."""
    values = SETTINGS | _shared_memory(shm) | dict(settings)
    lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in values.items()]
    return "\n".join([_HEAD, *lines, ""])


def _shared_memory(shm: Path) -> dict[str, str]:
    """Containers often have 64 MB of /dev/shm, where a parallel HNSW build fails: use files then."""
    if not shm.is_dir() or shutil.disk_usage(shm).total >= _SHM_NEEDED:
        return {}
    return {"dynamic_shared_memory_type": "mmap"}
