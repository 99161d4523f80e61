"""Every error that recalld names, and what it means to the caller.

The message says what happened, ``suggestion`` what to do next, ``code`` is the stable
name that programs switch on. ``recalld.bus.outcomes`` maps the ingest ones to acks,
``recalld.bus.service`` maps any of them to an error reply, ``recalld.cli`` to an exit status.
"""

from __future__ import annotations


class RecalldError(Exception):
    """Something that recalld can name went wrong."""

    code = "internal"
    exit_status = 1

    def __init__(self, message: str, *, suggestion: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion


class ConfigError(RecalldError):
    """A setting is unknown, of a wrong type, or points at something unusable."""

    code = "config"
    exit_status = 2


class UsageError(RecalldError):
    """The request itself is wrong; asking again the same way cannot help."""

    code = "bad_request"
    exit_status = 2


class NotFoundError(RecalldError):
    """The named repo, document or chunk is not known."""

    code = "not_found"


class RefusedError(RecalldError):
    """recalld could do it but will not, to protect a memory, unless told to explicitly."""

    code = "refused"
    exit_status = 4


class CalibrationRefused(RecalldError):  # noqa: N818 - nothing broke; there is no calibration to trust
    """A calibration would say more than it knows: too few questions, or one that is damaged or of another index."""

    code = "calibration"
    exit_status = 4


class UnreachableError(RecalldError):
    """The daemon, or the role of it that this needs, does not answer."""

    code = "unreachable"
    exit_status = 3


class DeadlineError(RecalldError):
    """The request's own deadline passed before there was an answer."""

    code = "deadline"


class TooLargeError(RecalldError):
    """A request or file is over its configured size."""

    code = "too_large"
    exit_status = 2


class DocumentError(RecalldError):
    """A document cannot be put in as it is."""

    code = "document"


class EncryptedError(DocumentError):
    """The document can only be read with a password."""

    code = "encrypted"


class BrokenDocumentError(DocumentError):
    """The document is damaged, cut off, or not of the kind that it is said to be."""

    code = "broken_document"


class NoTextError(DocumentError):
    """There is no text in the document: it is empty, or it is pictures."""

    code = "no_text"


class UnsupportedTypeError(DocumentError):
    """There is no reader for documents of this type."""

    code = "unsupported_type"


class FetchError(RecalldError):
    """A URL did not give a document: nobody answers, the answer is an error, or it breaks off."""

    code = "fetch"


class BusyError(RecalldError):
    """As many requests as allowed are already in flight."""

    code = "busy"


class DependencyError(RecalldError):
    """Postgres, NATS or a model cannot be used right now; it may come back."""

    code = "dependency"


class WarmingError(DependencyError):
    """The model is still being loaded; what does not need it works already."""

    code = "warming"


class StateHeldError(RecalldError):
    """Another daemon holds this state directory."""

    code = "state_held"
    exit_status = 4


class SchemaError(RecalldError):
    """The database's schema does not fit this code: newer, edited, or half applied."""

    code = "schema"
    exit_status = 4


class RetryLater(RecalldError):  # noqa: N818 - an instruction to the consumer, not a fault
    """The work was right but must be done again. ``after`` is in seconds, None for the usual back-off."""

    code = "retry"

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Rejected(RecalldError):  # noqa: N818 - an instruction to the consumer, not a fault
    """The message can never be worked on (undecodable, outside the repo): dead-letter at once."""

    code = "rejected"
