"""Settings: layers, sources, and errors that name the key and the fix."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from recalld.configuration import check_paths, explain, load
from recalld.errors import ConfigError
from recalld.settings import Settings
from recalld.settings_reference import reference


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RECALLD_CONFIG", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recalld.toml"
    path.write_text(text)
    return path


def sources(settings: Settings, layers: list) -> dict[str, tuple[str, str]]:
    return {row.key: (row.value, row.source) for row in explain(settings, layers)}


def test_flags_win_over_environment_over_credentials_over_file(tmp_path, monkeypatch):
    path = written(tmp_path, "[store]\npool_size = 3\nstatement_timeout_s = 1\n[bus]\nuser = 'file'\nagent = 'file'\n")
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "bus__user").write_text("credential")
    (credentials / "store__pool_size").write_text("4")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    monkeypatch.setenv("RECALLD_STORE__POOL_SIZE", "5")
    monkeypatch.setenv("RECALLD_BUS__AGENT", "environment")

    settings, layers = load(path, {"bus": {"agent": "flag"}})

    rows = sources(settings, layers)
    assert rows["bus.agent"] == ("flag", "flag")
    assert rows["store.pool_size"] == ("5", "environment")
    assert rows["bus.user"] == ("credential", "systemd credential")
    assert rows["store.statement_timeout_s"] == ("1.0", str(path))
    assert rows["bus.replicas"] == ("1", "default")


def test_no_secret_is_shown(monkeypatch):
    monkeypatch.setenv("RECALLD_STORE__DSN", "postgresql://me:hunter2@db/recalld")
    monkeypatch.setenv("RECALLD_BUS__PASSWORD", "hunter2")
    monkeypatch.setenv("RECALLD_BUS__SERVERS", "nats://me:hunter2@one:4222, nats://two:4222")
    monkeypatch.setenv("RECALLD_EMBED__OPTIONS", '{"api_key": "hunter2", "base_url": "http://me:hunter2@llm/v1"}')
    monkeypatch.setenv("RECALLD_ASK__ANSWERER_OPTIONS", '{"headers": {"Authorization": "Basic hunter2"}}')

    shown = explain(*load())

    assert all("hunter2" not in row.value for row in shown)
    assert {row.key: row.value for row in shown}["bus.servers"] == "nats://********@one:4222, nats://two:4222"


def test_lists_are_words_between_commas_or_json(monkeypatch):
    monkeypatch.setenv("RECALLD_NODE__ROLES", "watch, index")
    monkeypatch.setenv("RECALLD_BUS__SERVERS", '["nats://a:1"]')
    settings, _ = load()
    assert settings.node.roles == ("watch", "index")
    assert settings.bus.servers == ("nats://a:1",)


@pytest.mark.parametrize(
    ("text", "named", "advice"),
    [
        ("[stor]\ndsn = 'x'\n", "stor", "store"),
        ("[store]\ndnss = 'x'\n", "store.dnss", "store.dsn"),
        ("[store]\npool_size = 'many'\n", "store.pool_size", "config show"),
        ("[node]\nroles = ['wacht']\n", "node.roles.0", "config show"),
        ("[node]\nname = 'a.b'\n", "node.name", "config show"),
        ("[store\n", "not valid TOML", "mend"),
        ("[[repos]]\nname = 'x'\n", "repos.0.path", "config show"),
    ],
)
def test_a_bad_file_names_the_key_and_the_fix(tmp_path, text, named, advice):
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, text))
    assert named in caught.value.message
    assert advice in caught.value.suggestion


@pytest.mark.parametrize(
    ("variable", "advice"), [("RECALLD_STOR__DSN", "RECALLD_STORE__"), ("RECALLD_STORE__DSNN", "store.dsn")]
)
def test_a_bad_environment_variable_is_an_error(monkeypatch, variable, advice):
    monkeypatch.setenv(variable, "x")
    with pytest.raises(ConfigError) as caught:
        load()
    assert advice in caught.value.suggestion


def test_a_named_file_must_exist(tmp_path):
    with pytest.raises(ConfigError, match=r"no settings file .*absent"):
        load(tmp_path / "absent.toml")


def test_unreachable_paths_name_their_key(tmp_path):
    settings, _ = load(written(tmp_path, f"[[repos]]\npath = '{tmp_path}/absent'\n"))
    with pytest.raises(ConfigError, match=r"repos\.0\.path"):
        check_paths(settings)
    occupied = tmp_path / "occupied"
    occupied.write_text("")
    settings, _ = load(None, {"node": {"state_dir": str(occupied / "state")}})
    with pytest.raises(ConfigError, match=r"node\.state_dir"):
        check_paths(settings)


def test_the_reference_file_is_current_and_every_default_in_it_is_the_default(tmp_path):
    committed = Path(__file__).parents[2] / "config" / "recalld.toml"
    assert committed.read_text() == reference()

    body = reference().split("# One table for each")[0]
    lines = [line.removeprefix("# ") for line in body.splitlines() if " = " in line and not line.endswith("= ")]
    sections = [line for line in body.splitlines() if line.startswith("[")]
    assert len(sections) == len(Settings.model_fields) - 1
    for line in lines:
        if "=" in line and line.split(" = ")[0].isidentifier():
            tomllib.loads(line)
