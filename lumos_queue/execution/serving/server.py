"""Serve pages on one event loop until a signal stops it."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from tornado.netutil import bind_sockets
from tornado.web import Application

from lumos_queue.errors import SpecError
from lumos_queue.execution.serving.connections import BoundedServer
from lumos_queue.util.addresses import Origin
from lumos_queue.util.connection_limits import ServeLimits


def serve(pages: Application, path: str, host: str, port: int, key: str, say: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. `port`: 0 for any free port. `say` prints lines, one with the address and `path`.

    Raises SpecError when the address cannot be used.
    """
    try:
        sockets = bind_sockets(port, host)
    except (OSError, UnicodeError) as error:
        problem = getattr(error, "strerror", None) or error
        raise SpecError(f"Cannot serve on {host}, port {port}: {problem}. Choose another --host or --port.") from None
    asyncio.run(_serve(pages, path, sockets, key, say))


async def _serve(
    pages: Application, path: str, sockets: list[socket.socket], key: str, say: Callable[[str], None]
) -> None:
    stop_event = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop_event.set)
    for name in ("tornado.access", "tornado.general"):  # they quote clients, and log every broken request line
        logging.getLogger(name).disabled = True
    server = BoundedServer(
        pages,
        max_body_size=ServeLimits.discarded_bytes,
        max_buffer_size=ServeLimits.discarded_bytes,
        max_header_size=ServeLimits.head_bytes,
        idle_connection_timeout=ServeLimits.head_seconds,
        body_timeout=ServeLimits.body_seconds,
    )
    server.add_sockets(sockets)
    addresses = [listener.getsockname()[:2] for listener in sockets]
    if warning := reach_warning(addresses, key):
        say(warning)
    say(f"serving at {Origin('http', *addresses[0])}{path} until Ctrl-C")
    await stop_event.wait()
    server.stop()
    with suppress(TimeoutError):
        await asyncio.wait_for(server.close_all_connections(), ServeLimits.end_seconds)


def reach_warning(addresses: Sequence[tuple[str, int]], key: str) -> str:
    """Return a warning if other machines can reach one of the addresses; otherwise ''."""
    for address, port in addresses:
        if not ipaddress.ip_address(address).is_loopback:
            authority = Origin("http", address, port).authority
            who = "whoever has LUMOS_SERVE_KEY" if key else "everyone (set LUMOS_SERVE_KEY to ask for a key)"
            return f"warning: {authority} is reachable from other machines, and answers {who}, unencrypted"
    return ""
