"""``recalld config``, ``recalld doctor`` and ``recalld reload`` on a machine without a daemon."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.commands import run


@pytest.fixture(autouse=True)
def _nobodys_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_show_names_the_source_of_each_value_and_hides_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "recalld.toml"
    file.write_text('[store]\ndsn = "postgresql://u:hunter2@db/x"\n[recall]\ncandidates = 70\n')
    monkeypatch.setenv("RECALLD_WATCH__MODE", "poll")
    result = run(f"recalld config show --config {file} --set embed.model=hashing --json")
    assert result.exit_code == 0
    assert "hunter2" not in result.stdout
    rows = json.loads(result.stdout)
    assert rows["recall.candidates"] == {"value": "70", "source": str(file)}
    assert rows["watch.mode"]["source"] == "environment"
    assert rows["embed.model"] == {"value": "hashing", "source": "flag"}
    assert rows["bus.agent"] == {"value": "cli", "source": "default"}


def test_show_changed_leaves_the_defaults_out() -> None:
    result = run("recalld config show --changed --set recall.mode=lexical")
    assert "recall.mode" in result.stdout
    assert "lexical" in result.stdout
    assert "bus.agent" not in result.stdout


def test_check_names_the_key_and_the_fix(tmp_path: Path) -> None:
    assert run("recalld config check").exit_code == 0
    file = tmp_path / "recalld.toml"
    file.write_text('[[repos]]\npath = "/no/such/place"\n')
    result = run(f"recalld config check --config {file}")
    assert result.exit_code == 2
    assert "repos.0.path" in result.stderr


def test_doctor_finds_a_working_machine(tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    (memory / "below").mkdir(parents=True)
    file = tmp_path / "recalld.toml"
    file.write_text(f'[embed]\nmodel = "hashing"\n[[repos]]\npath = "{memory}"\n')
    result = run(f"recalld doctor --config {file} --json")
    assert result.exit_code == 0, result.stdout
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    assert checks["repos"]["detail"] == "1 readable"
    assert checks["model"]["status"] == "degraded"  # hashing works, and is not what anyone wants
    assert checks["state directory"]["status"] == "ok"


def test_doctor_names_what_is_broken_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "recalld.toml"
    file.write_text(
        '[store]\ndsn = "postgresql://nobody@127.0.0.1:1/none"\n[bus]\nservers = ["nats://127.0.0.1:1"]\n'
        '[embed]\nmodel = "no/such-model"\nlocal_files_only = true\n'
    )
    result = run(f"recalld doctor --config {file} --json")
    assert result.exit_code == 1
    checks = {check["name"]: check for check in json.loads(result.stdout)["checks"]}
    for name in ("postgres", "nats", "model"):
        assert checks[name]["status"] == "failed", name
        assert checks[name]["detail"], name
    assert checks["python"]["status"] == "ok"


def test_doctor_takes_broken_settings_as_a_finding() -> None:
    result = run("recalld doctor --set watch.mode=telepathy")
    assert result.exit_code == 1
    assert "watch.mode" in result.stdout


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the state directory as a daemon would, and ends at SIGHUP."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom recalld.embedded.state import StateDirectory\n"
        "held = StateDirectory.acquire(Path(sys.argv[1]))\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "held")], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


def test_reload_signals_the_holder_of_the_state_directory(tmp_path: Path, holder: subprocess.Popen[bytes]) -> None:
    result = run(f"recalld reload --state-dir {tmp_path / 'held'} --json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"pid": holder.pid, "signal": "SIGHUP"}
    assert holder.wait(10) == -signal.SIGHUP


def test_reload_does_not_believe_the_note_of_a_killed_daemon(tmp_path: Path) -> None:
    note = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime(2020, 1, 1, tzinfo=UTC).isoformat()}
    (tmp_path / "holder.json").write_text(json.dumps(note))
    result = run(f"recalld reload --state-dir {tmp_path}")
    assert result.exit_code == 3


def test_migrate_is_refused_while_a_daemon_holds_the_embedded_postgres(
    tmp_path: Path, holder: subprocess.Popen[bytes]
) -> None:
    result = run(f"recalld migrate --state-dir {tmp_path / 'held'}")
    assert result.exit_code == 4
    assert f"pid {holder.pid}" in result.stderr
