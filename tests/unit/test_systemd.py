"""The notifier against a real datagram socket, and the unit files against systemd's own judgement."""

import logging
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from recalld.configuration import load
from recalld.errors import ConfigError, SchemaError, StateHeldError
from recalld.settings import ALL_ROLES
from recalld.systemd import UNWATCHED_INTERVAL_S, Notifier
from tests.support.directories import short_directory

UNITS = Path(__file__).parents[2] / "systemd"
SYSTEM = ("recalld.service", "recalld-worker@.service")
ALL = (*SYSTEM, "user/recalld.service")


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """The service manager's end of the line."""
    with short_directory() as directory, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(directory / "notify"))
        end.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(directory / "notify"))
        yield end


@pytest.fixture
def notifier(manager: socket.socket) -> Iterator[Notifier]:
    with closing(Notifier.of_environment()) as connected:
        yield connected


def _heard(manager: socket.socket) -> str:
    return manager.recv(4_096).decode("utf-8")


def test_the_manager_hears_each_state_in_the_words_of_sd_notify(notifier: Notifier, manager: socket.socket) -> None:
    for say, words in (
        (notifier.ready, "READY=1"),
        (notifier.stopping, "STOPPING=1"),
        (notifier.watchdog, "WATCHDOG=1"),
    ):
        say()
        assert _heard(manager) == words
    notifier.extend(1.5)
    assert _heard(manager) == "EXTEND_TIMEOUT_USEC=1500000"


def test_a_reload_carries_its_time(notifier: Notifier, manager: socket.socket) -> None:
    replace(notifier, _monotonic_ns=lambda: 1_234_567_890).reloading()
    assert _heard(manager) == "RELOADING=1\nMONOTONIC_USEC=1234567"


def test_a_status_is_one_line_and_keeps_every_script(notifier: Notifier, manager: socket.socket) -> None:
    notifier.status("indexing ångström,\n日本\nREADY=1")
    assert _heard(manager) == "STATUS=indexing ångström, 日本 READY=1"


def test_an_abstract_socket_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(f"\0recalld-test-{os.getpid()}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@recalld-test-{os.getpid()}")
        with closing(Notifier.of_environment()) as notifier:
            notifier.ready()
        assert _heard(end) == "READY=1"


def test_without_a_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notifier = Notifier.of_environment()
    notifier.ready()
    notifier.status("nobody listens")
    notifier.extend(5)


@pytest.mark.filterwarnings(
    "ignore:unclosed <socket:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_manager_that_is_not_there_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/notify")
    with caplog.at_level(logging.WARNING):
        Notifier.of_environment().ready()
    assert "/nowhere/notify" in caplog.text


def test_a_manager_that_does_not_listen_or_goes_away_stops_nobody(notifier: Notifier, manager: socket.socket) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, pytest.raises(BlockingIOError):
        other.setblocking(False)
        while True:  # until the manager's queue is full
            other.sendto(b"X=1", manager.getsockname())
    notifier.watchdog()
    manager.close()
    notifier.ready()


@pytest.mark.parametrize(
    ("usec", "pid", "interval"),
    [
        ("60000000", "", 30.0),
        ("500000", "ours", 0.25),
        ("60000000", "1", UNWATCHED_INTERVAL_S),
        ("", "", UNWATCHED_INTERVAL_S),
        ("0", "", UNWATCHED_INTERVAL_S),
        ("soon", "", UNWATCHED_INTERVAL_S),
    ],
)
def test_it_beats_at_half_the_watchdogs_patience(
    monkeypatch: pytest.MonkeyPatch, usec: str, pid: str, interval: float
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "ours" else pid)
    assert Notifier.of_environment().interval_s == interval


needs_analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


def _analyze(*arguments: str, user: bool, runtime: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", arguments[0], *(("--user",) if user else ()), *arguments[1:]],
        env={"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@needs_analyze
@pytest.mark.parametrize("unit", ALL)
def test_systemd_finds_no_fault_with_the_unit(unit: str, tmp_path: Path) -> None:
    verdict = _analyze("verify", "--man=no", str(UNITS / unit), user=unit.startswith("user/"), runtime=tmp_path)
    assert (verdict.returncode, verdict.stdout + verdict.stderr) == (0, "")


@needs_analyze
@pytest.mark.parametrize("unit", SYSTEM)
def test_the_unit_is_as_hardened_as_the_readme_says(unit: str, tmp_path: Path) -> None:
    said = re.search(rf"\| `{re.escape(unit)}` \| (\d\.\d) \|", (UNITS / "README.md").read_text())
    assert said is not None
    limit = str(round(float(said[1]) * 10))
    verdict = _analyze(
        "security", "--offline=true", f"--threshold={limit}", str(UNITS / unit), user=False, runtime=tmp_path
    )
    assert verdict.returncode == 0, verdict.stdout


def _service(unit: str) -> dict[str, list[str]]:
    """Return the [Service] section; a key may stand more than once."""
    lines = (UNITS / unit).read_text().split("[Service]")[1].split("[Install]")[0].splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        if line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("unit", ALL)
def test_what_ends_a_daemon_for_good_is_not_tried_again(unit: str) -> None:
    final = {str(error.exit_status) for error in (ConfigError, StateHeldError, SchemaError)}
    assert set(_service(unit)["RestartPreventExitStatus"][0].split()) == final


@pytest.mark.parametrize("role", ALL_ROLES)
def test_a_workers_instance_is_its_role(role: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "recalld.toml").write_text('[bus]\nservers = ["nats://bus:4222"]\n')
    for line in _service("recalld-worker@.service")["Environment"]:
        name, _, value = line.partition("=")
        monkeypatch.setenv(name, value.replace("%i", role).replace("%l", "host"))
    monkeypatch.setenv("RECALLD_CONFIG", str(tmp_path / "recalld.toml"))
    settings, _ = load()
    assert (settings.node.roles, settings.node.name) == ((role,), f"host-{role}")


@pytest.mark.skipif(shutil.which("systemd-tmpfiles") is None, reason="systemd is not installed")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give directories to root")
def test_the_places_for_settings_are_made(tmp_path: Path) -> None:
    subprocess.run(
        ["systemd-tmpfiles", f"--root={tmp_path}", "--create", str(UNITS / "recalld.tmpfiles.conf")], check=True
    )
    assert (tmp_path / "etc/recalld/credentials").stat().st_mode & 0o777 == 0o700
