"""What can go wrong between a process and NATS, by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import nats.errors
import nats.js.errors

from recalld.errors import DependencyError, RefusedError, TooLargeError, UnreachableError

START = "start the NATS server, or check bus.servers"


class ConnectionLostError(DependencyError):
    """The connection broke while a reply was awaited: whether the request was worked on is not known."""


@contextmanager
def naming_errors(doing: str, *, timeouts: bool = True) -> Iterator[None]:
    """Turn what nats-py raises into named errors; ``timeouts`` False lets TimeoutError through as it is."""
    try:
        yield
    except (nats.errors.NoRespondersError, nats.js.errors.NoStreamResponseError) as error:
        raise UnreachableError(f"nobody on the bus answers ({doing})") from error
    except nats.errors.MaxPayloadError as error:
        raise TooLargeError(
            f"the message is larger than NATS takes ({doing})", suggestion="raise max_payload of the NATS server"
        ) from error
    except TimeoutError as error:
        if not timeouts:
            raise
        raise DependencyError(f"NATS did not answer in time ({doing})") from error
    except (nats.errors.Error, OSError) as error:
        raise DependencyError(f"NATS: {error} ({doing})") from error


def not_permitted(what: str, subject: str) -> RefusedError:
    return RefusedError(
        f"this user may not {what} {subject} on the bus",
        suggestion="use the agent name that belongs to the NATS user, or extend its permissions",
    )
