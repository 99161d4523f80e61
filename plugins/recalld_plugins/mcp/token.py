"""The token that HTTP clients show: from the settings, else one of our own that stays in the state directory."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from recalld.embedded.state import StatePaths, make_private, write_private
from recalld.errors import ConfigError
from recalld.settings import Settings

SHORTEST = 16
"""Characters of a token."""
_FILE = "mcp-token"
_BYTES = 32


@dataclass(frozen=True, slots=True)
class Token:
    """A token, and the file that it is in; None where the settings say it."""

    value: str
    file: Path | None


def token_of(settings: Settings, *, made: bool) -> Token:
    """Return the token; where the settings have none, the one in the state directory, made at the first time.

    Raises ConfigError for one that is too short, or for none where ``made`` is False.
    """
    if settings.mcp.token is not None:
        return Token(_checked(settings.mcp.token.get_secret_value(), "mcp.token"), None)
    if not made:
        raise ConfigError(
            "whoever can reach that address could read the memory, and there is no mcp.token",
            suggestion="set mcp.token (RECALLD_MCP__TOKEN, or the systemd credential mcp__token), or stay on 127.0.0.1",
        )
    file = StatePaths.of(settings.node.state_dir).credentials / _FILE
    try:
        if not file.exists():
            make_private(file.parent)
            write_private(file, secrets.token_urlsafe(_BYTES).encode() + b"\n")
        return Token(_checked(file.read_text("ascii").strip(), str(file)), file)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"no token can be kept in {file}: {error}", suggestion="set mcp.token") from error


def _checked(token: str, where: str) -> str:
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{where} is no token: {SHORTEST} or more printable ASCII characters without spaces",
            suggestion="make one: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return token
