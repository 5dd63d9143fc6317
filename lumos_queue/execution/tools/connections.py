"""Connect to checked addresses only, without a second name resolution between check and connection.

The connection pool makes every connection by this module, also after a redirect or a lost connection. TLS is unchanged:
the certificate is verified for the host in the URL.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpcore2

from lumos_queue.execution.tools.guard import Guard


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves names with the guard and connects to the addresses that the guard has checked."""

    def __init__(self, guard: Guard):
        self._guard = guard
        self._sockets: Any = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host. Raises ActionError of kind 'refused'; if no address answers, the last address's error."""
        *first_addresses, last = await self._guard.addresses(host, port)
        for address in first_addresses:
            try:
                return await self._sockets.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._sockets.connect_tcp(last, port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.UnsupportedProtocol("no local sockets")

    async def sleep(self, seconds: float) -> None:
        await self._sockets.sleep(seconds)
