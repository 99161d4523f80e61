"""The process in which a hostile document is read: ``python -I -m recalld.put.sandbox JSON``, bytes in, JSON out.

It limits itself before it loads a converter: address space, processor time, no files written, no processes started.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

from recalld.errors import BrokenDocumentError, ConfigError, DocumentError, RecalldError, TooLargeError
from recalld.put.converted import Job
from recalld.put.plugins import CONVERTERS, plugin

OPEN_FILES = 128


def restrict(memory_bytes: int, seconds: int) -> None:
    """Set the limits, for good. A system that has no such limit (macOS and address space) goes without it.

    The signal of spent processor time, which tells its reason, comes a second before the one that only kills.
    """
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        **({resource.RLIMIT_AS: memory_bytes} if sys.platform != "darwin" else {}),
    }
    for which, wanted in limits.items():
        _, hard = resource.getrlimit(which)
        bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        last = bound + 1 if which == resource.RLIMIT_CPU and bound == wanted else bound
        resource.setrlimit(which, (bound, last if hard == resource.RLIM_INFINITY else min(last, hard)))


def convert(options: dict[str, Any], document: BinaryIO) -> dict[str, Any]:
    """Return what a document became, or the named error that it gave."""
    try:
        converter = plugin(CONVERTERS, options["converter"])
        converted = converter(document.read(), Job(**options["job"]))
        if len(converted.text.encode("utf-8", "replace")) > options["job"]["max_text_bytes"]:
            raise TooLargeError("the document has too much text", suggestion="see put.max_text_bytes")
        return asdict(converted)
    except MemoryError:
        error: RecalldError = TooLargeError("reading the document takes too much memory", suggestion=_MEMORY)
    except RecalldError as raised:
        error = raised
    except Exception as fault:  # a reader of a hostile document may raise anything
        what = f"{type(fault).__name__}: {fault}"[:200]
        error = BrokenDocumentError(
            f"the document cannot be read ({what})", suggestion="open it, and see whether it is whole"
        )
    return {"error": {"code": error.code, "message": error.message, "suggestion": error.suggestion}}


_MEMORY = "see put.max_memory_bytes"
_KNOWN: tuple[type[RecalldError], ...] = (*DocumentError.__subclasses__(), DocumentError, TooLargeError, ConfigError)
KINDS = {kind.code: kind for kind in _KNOWN}
"""The errors that a sandbox answers with, by their codes."""


def main() -> None:
    """Read a document from stdin; whatever a library prints goes nowhere."""
    options = json.loads(sys.argv[1])
    answer = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    restrict(options["memory_bytes"], options["seconds"])
    with answer:
        answer.write(json.dumps(convert(options, sys.stdin.buffer)).encode())


if __name__ == "__main__":
    main()
