"""Reads the settings from file, credentials, environment and flags, and says where each value came from."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource, NestedSecretsSettingsSource, SettingsError

from recalld.errors import ConfigError
from recalld.settings import Settings

ENVIRONMENT_PREFIX = "RECALLD_"
SECRET_NAME = re.compile(r"key|token|secret|password|^headers$", re.IGNORECASE)
NOT_SETTINGS = ("RECALLD_CONFIG", "RECALLD_TEST_")


@dataclass(frozen=True, slots=True)
class Effective:
    """One effective value: its dotted key, the value as text (secrets hidden), and the source it came from."""

    key: str
    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Layer:
    """What one source says, as nested mappings."""

    source: str
    values: Mapping[str, Any]


def find_file(explicit: Path | None) -> Path | None:
    """Return the settings file: the given one, ``$RECALLD_CONFIG``, the user's, or the system's; None if there is none.

    Raises ConfigError when a file was named and is not there.
    """
    named = explicit or (Path(os.environ["RECALLD_CONFIG"]) if os.environ.get("RECALLD_CONFIG") else None)
    if named is not None:
        if not named.is_file():
            raise ConfigError(f"there is no settings file {named}", suggestion="check --config or RECALLD_CONFIG")
        return named
    places = (platformdirs.user_config_path("recalld"), Path("/etc/recalld"))
    return next((p / "recalld.toml" for p in places if (p / "recalld.toml").is_file()), None)


def load(config: Path | None = None, flags: Mapping[str, Any] | None = None) -> tuple[Settings, list[Layer]]:
    """Return the effective settings and the layers they were made of, strongest last.

    ``flags`` is nested like the settings. Raises ConfigError naming the key, its source and the fix.
    """
    layers = [*_file_layer(config), *_credential_layer(), _environment_layer(), Layer("flag", flags or {})]
    merged: dict[str, Any] = {}
    for layer in layers:
        _merge(merged, layer.values)
    try:
        return Settings(**merged), layers
    except ValidationError as error:
        raise _explain_invalid(error, layers) from None


def explain(settings: Settings, layers: list[Layer]) -> list[Effective]:
    """List every setting with its effective value and source, secrets hidden."""
    rows = []
    for key, value in flatten(settings):
        source = next((layer.source for layer in reversed(layers) if _has(layer.values, key)), "default")
        rows.append(Effective(key, _text(_without_secrets(value)), source))
    return rows


def check_paths(settings: Settings) -> None:
    """Raise ConfigError for the first configured path that cannot be used, naming its key and the fix."""
    creds = settings.bus.credentials_file
    if creds is not None and not os.access(creds, os.R_OK):
        raise ConfigError(
            f"bus.credentials_file {creds} cannot be read", suggestion="check the path and its permissions"
        )
    for number, repo in enumerate(settings.repos):
        if not repo.path.is_dir():
            raise ConfigError(
                f"repos.{number}.path {repo.path} is not a directory", suggestion="create it, or take the repo out"
            )
    for key, directory in (("node.state_dir", settings.node.state_dir), ("node.cache_dir", settings.node.cache_dir)):
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"{key} {directory} cannot be made: {error.strerror}", suggestion=f"set {key} to a writable directory"
            ) from None


def _file_layer(config: Path | None) -> Iterator[Layer]:
    path = find_file(config)
    if path is None:
        return
    try:
        yield Layer(str(path), tomllib.loads(path.read_text("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", suggestion="mend that line") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", suggestion="check its permissions") from None


def _credential_layer() -> Iterator[Layer]:
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    if not directory:
        return
    source = NestedSecretsSettingsSource(
        EnvSettingsSource(Settings),
        secrets_dir=directory,
        secrets_dir_missing="error",
        secrets_nested_delimiter="__",
        secrets_prefix="",
    )
    try:
        yield Layer("systemd credential", source())
    except SettingsError as error:
        raise ConfigError(
            f"CREDENTIALS_DIRECTORY: {error}", suggestion="let systemd set it (LoadCredential=store__dsn:FILE)"
        ) from None


def _environment_layer() -> Layer:
    sections = {f"{ENVIRONMENT_PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name in os.environ:
        known = name.split("__")[0] in sections or name.startswith(NOT_SETTINGS)
        if name.startswith(ENVIRONMENT_PREFIX) and not known:
            raise ConfigError(
                f"environment variable {name} names no setting",
                suggestion=_did_you_mean(name, [f"{s}__..." for s in sorted(sections)]),
            )
    return Layer("environment", EnvSettingsSource(Settings)())


def _merge(target: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = dict(value) if isinstance(value, Mapping) else value


def _explain_invalid(error: ValidationError, layers: list[Layer]) -> ConfigError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    source = next((layer.source for layer in reversed(layers) if _has(layer.values, key)), "default")
    if first["type"] == "extra_forbidden":
        known = [name for name, _ in flatten(Settings())]
        return ConfigError(f"unknown setting {key} ({source})", suggestion=_did_you_mean(key, known))
    message = first["msg"].removeprefix("Value error, ")
    return ConfigError(
        f"setting {key} ({source}) is {_text(first.get('input'))!r}: {message[0].lower()}{message[1:]}",
        suggestion="`recalld config show` lists every setting; config/recalld.toml says what each means",
    )


def _did_you_mean(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else "`recalld config show` lists every setting"


def flatten(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each setting's dotted key and value."""
    for name in type(model).model_fields:
        value = getattr(model, name, None)
        if isinstance(value, BaseModel):
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _has(values: Any, key: str) -> bool:
    for part in key.split("."):
        if not isinstance(values, Mapping):
            return True
        if part not in values:
            return False
        values = values[part]
    return True


def _without_secrets(value: Any) -> Any:
    """Hide what may be secret inside values that are not declared so: passwords in URLs, keys in plugin options."""
    if isinstance(value, str):
        return re.sub(r"(?<=://)[^/@\s]+@", "********@", value)
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_none=True)
    if isinstance(value, tuple):
        return tuple(_without_secrets(item) for item in value)
    if isinstance(value, dict):
        return {k: "********" if SECRET_NAME.search(k) else _without_secrets(v) for k, v in value.items()}
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return "********"
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, BaseModel):
        return str(value.model_dump(mode="json", exclude_defaults=True))
    return str(value)
