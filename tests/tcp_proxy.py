"""A TCP proxy on 127.0.0.1 that can treat its connections as a bad network does."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import suppress
from typing import Literal, Self

Mode = Literal["pass", "drop", "delay", "cut", "black_hole"]
CHUNK = 65536  #: bytes read at once
POLL = 0.02  #: seconds between looks at the mode by a connection that may not forward


class TcpProxy:
    """Forwards to `target` from its own thread; `mode` may change at any time, for all connections.

    pass: forward. drop: close every connection, and new ones as soon as they come. delay: forward each piece
    `delay_seconds` later. cut: forward half of the next piece and close. black_hole: read and forward nothing, but keep
    all sockets open, and accept new ones; what the senders wrote meanwhile arrives when the mode changes again.
    """

    def __init__(self, target: int | str, mode: Mode = "pass", delay_seconds: float = 0.2):
        """`target`: a port of 127.0.0.1, or the path of a Unix socket."""
        self.mode: Mode = mode
        self.delay_seconds = delay_seconds
        self.port = 0  #: set on entry
        self.accepted = 0  #: connections so far
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp proxy", daemon=True)

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, sock=self._listener)

    async def _close(self) -> None:
        self._server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        outward = None
        try:
            await self._while_silent()
            if self.mode == "drop":
                return
            if isinstance(self._target, int):
                inward, outward = await asyncio.open_connection("127.0.0.1", self._target)
            else:
                inward, outward = await asyncio.open_unix_connection(self._target)
            ways = [asyncio.create_task(self._forward(*way)) for way in ((reader, outward), (inward, writer))]
            try:
                await asyncio.wait(
                    [*ways, watch := asyncio.create_task(self._wait_for_drop())], return_when="FIRST_COMPLETED"
                )
            finally:
                for task in (*ways, watch):
                    task.cancel()
                await asyncio.gather(*ways, watch, return_exceptions=True)
        except OSError:
            pass
        except asyncio.CancelledError:
            return  # the proxy closes
        finally:
            for stream in (writer, outward):
                if stream is not None:
                    stream.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while True:
                await self._while_silent()
                piece = await reader.read(CHUNK)
                if not piece:
                    await writer.drain()
                    return
                await self._while_silent()  # it may have come while the mode changed
                if self.mode == "delay":
                    await asyncio.sleep(self.delay_seconds)
                cut = self.mode == "cut"
                writer.write(piece[: len(piece) // 2] if cut else piece)
                await writer.drain()
                if cut:
                    await asyncio.sleep(POLL)  # for the half to leave
                    return

    async def _while_silent(self) -> None:
        while self.mode == "black_hole":
            await asyncio.sleep(POLL)

    async def _wait_for_drop(self) -> None:
        while self.mode != "drop":
            await asyncio.sleep(POLL)
