"""Every subject, stream and consumer name, once.

Paths and other free text never stand in a subject (spaces and dots would split or break it): they are hashed,
or must match ``TOKEN``.
"""

from __future__ import annotations

import hashlib
import re

SERVICE = "recalld"
API = "recall.v1"
INGEST_STREAM = "RECALL_INGEST"
INGEST_CONSUMER = "indexer"
DEAD_STREAM = "RECALL_DEAD"
EVENT_STREAM = "RECALL_EVENTS"
JOB_STREAM = "RECALL_JOBS"
JOB_CONSUMER = "runner"
CONTENT_BUCKET = "recall-content"

INGEST_SUBJECTS = "recall.ingest.>"
DEAD_SUBJECTS = "recall.dead.>"
EVENT_SUBJECTS = "recall.event.>"
JOB_SUBJECTS = "recall.job.>"

TOKEN = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_token(value: str) -> bool:
    """Tell whether a name may stand in a subject as one token."""
    return TOKEN.fullmatch(value) is not None


def path_token(path: str) -> str:
    """Return the subject token of a path: 32 hex digits of its sha256 (surrogates kept)."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def ingest(repo: str, path: str) -> str:
    """Return the subject on which the latest state of one file stands."""
    return f"recall.ingest.{repo}.{path_token(path)}"


def dead(repo: str, path: str) -> str:
    """Return the subject of a file's dead letter."""
    return f"recall.dead.{repo}.{path_token(path)}"


def request(agent: str, verb: str) -> str:
    """Return the subject that ``agent`` publishes a request for ``verb`` on."""
    return f"{API}.{agent}.{verb}"


def endpoint(verb: str) -> str:
    """Return the subject on which a server listens for ``verb`` from anyone."""
    return f"{API}.*.{verb}"


def caller(subject: str) -> str:
    """Return the agent named by a request's subject; the bus's permissions make it true."""
    return subject.split(".")[2]


def event(topic: str) -> str:
    """Return the subject of an event; ``topic`` may hold dots, each part a token."""
    return f"recall.event.{topic}"


def job(name: str, slot: str) -> str:
    """Return the work-queue subject of one slot of a job."""
    return f"recall.job.{name}.{slot}"


def scan(node: str) -> str:
    """Return the subject on which a watching node takes scan requests for its repos."""
    return f"recall.node.{node}.scan"


def create(node: str) -> str:
    """Return the subject on which a watching node takes requests for new files in its repos."""
    return f"recall.node.{node}.create"


def change(node: str) -> str:
    """Return the subject on which a watching node takes requests to change files of ours in its repos."""
    return f"recall.node.{node}.change"


def hashes(node: str) -> str:
    """Return the subject on which a node is asked what files hold."""
    return f"recall.node.{node}.hashes"


def read(node: str) -> str:
    """Return the subject on which a watching node takes requests for the bytes of files in its repos."""
    return f"recall.node.{node}.read"
