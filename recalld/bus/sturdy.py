"""nats-py's client with its faults put right, each of which made a live connection deaf or left a socket open.

This is the one module that knows the client's insides. Each method says what it is for and has a test in
``tests/integration/test_bus_connection.py``, so that it can go when the library is mended (seen with nats-py 2.16).
"""

from __future__ import annotations

import asyncio

import nats.errors
from nats.aio.client import Client
from nats.aio.subscription import Subscription


class SturdyClient(Client):
    """A client that notices when it has stopped reading."""

    async def _read_loop(self) -> None:
        """Reconnect when reading ends for a reason that nobody took care of.

        Any exception in there ends the loop while the connection counts as up: nothing is received any more until
        pings have failed for a minute.
        """
        await super()._read_loop()
        if self.is_connected:
            await self._process_op_err(nats.errors.ProtocolError())

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        """Take a malformed header for none: anyone who may send at all can send one, and it ends the read loop."""
        try:
            return await super()._process_headers(headers)
        except (ValueError, IndexError):
            return None

    async def flush(self, timeout: float = 10) -> None:
        """Return once the server has seen all that was sent before. Raises FlushTimeoutError.

        The library's own overtakes what is still to be written, so that a subscription may not be known yet; hence
        twice, for the rest goes out while the first reply is awaited. And when its caller is cancelled, the reply
        meets a cancelled future, and the read loop ends.
        """
        if self.is_closed:
            raise nats.errors.ConnectionClosedError
        try:
            async with asyncio.timeout(timeout):
                for _ in range(2):
                    pong = asyncio.get_running_loop().create_future()
                    await self._send_ping(pong)
                    await asyncio.shield(pong)
        except TimeoutError as error:
            raise nats.errors.FlushTimeoutError from error

    async def end(self, subscription: Subscription) -> None:
        """End a subscription after the last message that the server had sent for it was handled."""
        await self._send_unsubscribe(subscription._id)
        await self.flush()
        await subscription._pending_queue.join()

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        """Close the socket, too, when what is left cannot be written, or when closing is cancelled."""
        if not self.is_connected:
            self._pending = []
            self._pending_data_size = 0
        try:
            await super()._close(status, do_cbs)
        except OSError:
            for subscription in self._subs.values():
                subscription._stop_processing()
            if do_cbs and self._closed_cb is not None:
                await self._closed_cb()
        finally:
            if self._transport is not None:
                self._transport.close()  # type: ignore[no-untyped-call]
