"""The state directory: one holder, private files, credentials that a client can read."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from recalld.embedded import account as account_module
from recalld.embedded.account import let_through, unprivileged
from recalld.embedded.process import Account
from recalld.embedded.state import (
    ClientCredentials,
    StateDirectory,
    clear_client_credentials,
    read_client_credentials,
    write_client_credentials,
    write_private,
)
from recalld.errors import ConfigError, StateHeldError

_HOLD = """
import sys, pathlib
from recalld.embedded.state import StateDirectory
held = StateDirectory.acquire(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_in_it_is_private(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    with StateDirectory.acquire(state) as held:
        paths = held.paths()
        for directory in (tmp_path / "deep", state, paths.postgres, paths.nats, paths.credentials):
            assert _mode(directory) == 0o700
        assert {_mode(file) for file in state.iterdir() if file.is_file()} == {0o600}


def test_a_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(StateHeldError, match=f"pid {first.pid} on {socket.gethostname()} since 2") as caught:
            StateDirectory.acquire(tmp_path)
        assert str(tmp_path) in caught.value.message
        first.send_signal(signal.SIGKILL)
        first.wait()
        with StateDirectory.acquire(tmp_path):
            assert json.loads((tmp_path / "holder.json").read_text())["pid"] == os.getpid()


def test_it_can_be_held_again_after_release(tmp_path: Path) -> None:
    held = StateDirectory.acquire(tmp_path)
    with pytest.raises(StateHeldError):
        StateDirectory.acquire(tmp_path)
    held.release()
    held.release()
    assert not (tmp_path / "holder.json").exists()
    StateDirectory.acquire(tmp_path).release()


def test_an_unusable_place_names_itself_and_the_setting(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"file/state") as caught:
        StateDirectory.acquire(tmp_path / "file" / "state")
    assert "node.state_dir" in caught.value.suggestion


def test_clients_read_what_the_daemon_left(tmp_path: Path) -> None:
    assert read_client_credentials(tmp_path) is None
    left = ClientCredentials(url="nats://recalld:s3cret@127.0.0.1:4711", node="laptop", pid=42)
    write_client_credentials(tmp_path, left)
    assert read_client_credentials(tmp_path) == left
    assert (left.user, left.password) == ("recalld", "s3cret")
    assert _mode(tmp_path / "credentials" / "client.json") == 0o600
    clear_client_credentials(tmp_path)
    clear_client_credentials(tmp_path)
    assert read_client_credentials(tmp_path) is None


@pytest.mark.parametrize("content", ["", "[]", '{"url": "nats://x"}', '{"url": 1, "node": 2, "pid": "no"}'])
def test_a_broken_credentials_file_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / "client.json").write_text(content)
    assert read_client_credentials(tmp_path) is None


def test_a_private_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "secret"
    write_private(target, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_private(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert target.read_bytes() == b"old"


def test_only_barred_directories_are_opened_and_only_for_passing(tmp_path: Path) -> None:
    barred, open_ = tmp_path / "barred", tmp_path / "barred" / "open"
    open_.mkdir(parents=True)
    barred.chmod(0o700)
    open_.chmod(0o755)
    let_through(open_ / "data", Account("somebody", 54_321, 54_321))
    assert (_mode(barred), _mode(open_)) == (0o701, 0o755)


def test_an_ordinary_user_needs_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1_000)
    assert unprivileged(tmp_path) is None


def test_a_root_without_any_ordinary_user_is_told_the_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account_module, "_CANDIDATES", ("no-such-user",))
    with pytest.raises(ConfigError, match="root") as caught:
        unprivileged(tmp_path / "missing")
    assert "store.dsn" in caught.value.suggestion
