"""Servers that never finish: each takes a request and then writes as long as the client reads."""

from __future__ import annotations

import functools
import itertools
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

#: Yields what is written next; a number is a pause in seconds.
Script = Callable[[], Iterator[bytes | float]]

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_CHUNKS = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
_MANY = b"x" * 60_000


def _and_then_for_ever(first: bytes, again: bytes, pause: float = 0.0) -> Script:
    def script() -> Iterator[bytes | float]:
        yield first
        while True:
            yield again
            if pause:
                yield pause

    return script


def _headers() -> Iterator[bytes | float]:
    yield _HEAD
    for number in itertools.count():
        yield b"".join(b"X-%d-%d: y\r\n" % (number, index) for index in range(1000))


@functools.cache
def _blanks() -> bytes:
    """100 MiB of blanks as gzip."""
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(b" " * 2**20) for _ in range(100)) + packer.flush()


def _bomb() -> Iterator[bytes | float]:
    blanks = _blanks()
    yield _HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(blanks) + blanks


#: By name: what such a server does.
SCRIPTS: dict[str, Script] = {
    "an endless body": _and_then_for_ever(_CHUNKS, b"%x\r\n%s\r\n" % (len(_MANY), _MANY)),
    "an endless body to the end of the connection": _and_then_for_ever(_HEAD + b"\r\n", _MANY),
    "a body in drops": _and_then_for_ever(_CHUNKS, b"1\r\nx\r\n", 0.2),
    "a head in drops": _and_then_for_ever(_HEAD, b"X-A: b\r\n", 0.2),
    "an endless status line": _and_then_for_ever(b"HTTP/1.1 200 ", _MANY),
    "an endless header": _and_then_for_ever(_HEAD + b"X-Long: ", _MANY),
    "endless headers": _headers,
    "a gzip bomb": _bomb,
    "interim replies for ever": _and_then_for_ever(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "chunk extensions for ever": _and_then_for_ever(_CHUNKS + b"1;", b"x=" + _MANY + b";"),
    "chunks of one byte for ever": _and_then_for_ever(_CHUNKS, b"1\r\nx\r\n" * 10_000),
    "nothing": _and_then_for_ever(b"", b"", 0.2),
}


class HostileServer:
    """One of `SCRIPTS`, in its own thread during the `with` block."""

    def __init__(self, script: Script):
        self._script = script
        self.sent = 0  #: bytes written, over all connections

    def __enter__(self) -> HostileServer:
        next(self._script())  # what it takes to make the first piece is not to be measured with a call
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(1.0)  # do not wait for clients that do not read
            try:
                connection.recv(65536)
                for piece in self._script():
                    if self._over.is_set():
                        return
                    if isinstance(piece, float):
                        time.sleep(piece)
                    else:
                        connection.sendall(piece)
                        self.sent += len(piece)
                time.sleep(0.5)
            except OSError:
                pass
