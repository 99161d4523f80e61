"""The app ``recall``: ask the daemon."""

from __future__ import annotations

from recalld.cli.command import application

app = application("recall asks a running recalld: search a memory, look after its repos, see what happens.")
