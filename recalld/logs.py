"""How the daemon logs: a line of text or a JSON object, with a severity that the journal understands."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Literal

_JOURNAL_LEVELS = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
_QUIET = ("apscheduler", "asyncio", "nats", "watchfiles", "fastembed", "httpx", "httpcore")


class TextFormatter(logging.Formatter):
    """Time, severity, module, message. Under systemd the journal keeps the time, and the severity is its prefix."""

    def __init__(self, journal: bool) -> None:
        super().__init__("%(name)s: %(message)s" if journal else "%(asctime)s %(levelname)-7s %(name)s: %(message)s")
        self._journal = journal

    def format(self, record: logging.LogRecord) -> str:
        """Render a record."""
        text = super().format(record)
        return f"<{_JOURNAL_LEVELS.get(record.levelno, 6)}>{text}" if self._journal else text


class JsonFormatter(logging.Formatter):
    """One JSON object a line: at, level, logger, message, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure(level: str, style: Literal["text", "json"]) -> None:
    """Log to standard error from ``level`` up; libraries only from warning up. May be called again."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter("JOURNAL_STREAM" in os.environ))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
