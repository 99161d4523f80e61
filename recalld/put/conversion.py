"""From bytes to text: plain text here, everything else in a process of its own that may die of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import Process

from recalld.errors import BrokenDocumentError, DeadlineError, DependencyError, NoTextError, RecalldError, TooLargeError
from recalld.ingest.decode import decode
from recalld.ingest.parse import read
from recalld.ingest.report import Reporter
from recalld.ingest.written import one_line
from recalld.put.converted import Converted, Job
from recalld.put.media import Media
from recalld.put.sandbox import KINDS
from recalld.settings import PutSettings

ANSWER_MARGIN = 65_536
"""JSON may be longer than the text in it: up to six characters for one, and what stands around."""
_FENCE = re.compile(r"`{3,}")


async def convert(media: Media, content: bytes, job: Job, settings: PutSettings) -> Converted:
    """Return a document as text.

    Raises DocumentError, TooLargeError, DeadlineError, ConfigError where the converter's extra is not installed.
    """
    if media in (Media.TEXT, Media.MARKDOWN):
        converted = await to_thread.run_sync(_plain, media, content, job)
    else:
        name = "pdf" if media is Media.PDF else "html"
        converted = await _in_sandbox(name, content, job, settings)
    if not converted.text.strip():
        raise NoTextError(f"{job.name} has no text")
    if len(converted.text.encode("utf-8", "replace")) > job.max_text_bytes:
        raise TooLargeError(
            f"{job.name} has more than {job.max_text_bytes} bytes of text", suggestion="see put.max_text_bytes"
        )
    return converted


def _plain(media: Media, content: bytes, job: Job) -> Converted:
    text = _decoded(content, job)
    if media is Media.TEXT:
        return Converted("", text)
    reading = read("document.md", text.encode("utf-8", "surrogatepass"))
    title = reading.document.title
    front = "\n".join(reading.lines.all[: reading.front.last])
    body = "\n".join(reading.lines.all[reading.front.last :]).strip("\n")
    if front.strip("-+ \n"):
        body = f"{_fenced(front)}\n\n{body}"
    return Converted("" if title == "document" else title, body)


def _decoded(content: bytes, job: Job) -> str:
    if job.charset:
        with suppress(LookupError, UnicodeError):
            return content.decode(job.charset)
    return decode(content, Reporter(job.name))


def _fenced(front: str) -> str:
    """Return a document's own frontmatter as a block of code: it says something, and means nothing here."""
    longest = max((len(run) for run in _FENCE.findall(front)), default=2)
    fence = "`" * (longest + 1)
    kind = "toml" if front.lstrip().startswith("+++") else "yaml"
    return f"{fence}{kind}\n{front.strip()}\n{fence}"


async def _in_sandbox(converter: str, content: bytes, job: Job, settings: PutSettings) -> Converted:
    options = {
        "converter": converter,
        "job": asdict(job),
        "memory_bytes": settings.max_memory_bytes,
        "seconds": max(1, round(settings.max_seconds)),
    }
    with anyio.move_on_after(settings.max_seconds) as patience:
        answer, status = await _run(options, content, job.max_text_bytes * 6 + ANSWER_MARGIN)
    if patience.cancelled_caught or status == -signal.SIGXCPU:
        raise DeadlineError(
            f"reading {job.name} takes longer than {settings.max_seconds:g} s", suggestion="see put.max_seconds"
        )
    return _understood(answer, status, job)


async def _run(options: dict[str, Any], content: bytes, most: int) -> tuple[bytes, int]:
    """Run the sandbox; return what it answers, no more than ``most`` bytes, and its exit status."""
    command = [sys.executable, "-I", "-m", "recalld.put.sandbox", json.dumps(options)]
    try:
        process = await anyio.open_process(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={}, cwd="/"
        )
    except OSError as error:
        raise DependencyError(f"no process can be started: {error.strerror}", suggestion="see the node") from error
    async with process:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_feed, process, content)
                answer = await _answer(process, most)
                group.cancel_scope.cancel()
            if len(answer) > most:
                process.kill()
            return answer, await process.wait()
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()
            raise


async def _feed(process: Process, content: bytes) -> None:
    assert process.stdin is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.send(content)
        await process.stdin.aclose()


async def _answer(process: Process, most: int) -> bytes:
    assert process.stdout is not None
    parts, size = [], 0
    async for part in process.stdout:
        parts.append(part)
        size += len(part)
        if size > most:
            break
    return b"".join(parts)


def _understood(answer: bytes, status: int, job: Job) -> Converted:
    try:
        said = json.loads(answer)
        if "error" in said:
            raise _named(said["error"], job)
        return Converted(said["title"], said["text"], said["pages"], tuple(said["notes"]))
    except (ValueError, KeyError, TypeError) as error:
        ended = f"signal {-status}" if status < 0 else f"status {status}"
        raise BrokenDocumentError(
            f"the process that read {job.name} died of it ({ended})",
            suggestion="it may need more memory (put.max_memory_bytes), or be made to do harm",
        ) from error


def _named(error: dict[str, str], job: Job) -> RecalldError:
    kind = KINDS.get(error["code"], BrokenDocumentError)
    return kind(f"{job.name}: {one_line(error['message'])}", suggestion=error["suggestion"])
