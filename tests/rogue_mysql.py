"""A MySQL server that asks for the password in one of the protocol's ways, and records all that clients send."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from contextlib import suppress

SSL, LONG_PASSWORD, WITH_DATABASE, PROTOCOL_41, SECURE, PLUGIN_AUTH = 0x800, 0x1, 0x8, 0x200, 0x8000, 0x80000
NONCE = b"12345678123456789012"
OK = b"\x00\x00\x00\x02\x00\x00\x00"
PUBLIC_KEY = b"-----BEGIN PUBLIC KEY-----\nthe key of a rogue\n-----END PUBLIC KEY-----\n"


class RogueMysql:
    """Serves until the `with` block ends. `heard` is everything that clients sent, inside TLS or not."""

    def __init__(
        self,
        greets: str = "mysql_native_password",
        asks: str = "",
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
        greeting: bytes | None = None,
        believes: bool = False,
    ):
        """`greets`: the method of the greeting, `asks`: that of a later switch; '' for none. `greeting`: sent instead.

        `believes`: any answer to a challenge is right, and queries succeed without rows.
        """
        self.greets, self.asks, self.tls, self.greeting, self.believes = greets, asks, tls, greeting, believes
        self.heard, self.packets = b"", list[bytes]()
        self._listener = socket.create_server((host, 0))
        self.host, self.port = self._listener.getsockname()[:2]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> RogueMysql:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, suppress(OSError, EOFError):
                client.settimeout(20)
                self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        _send(client, 0, self._build_greeting() if self.greeting is None else self.greeting)
        number, login = self._receive(client)
        if self.tls and int.from_bytes(login[:4], "little") & SSL:
            with self.tls.wrap_socket(client, server_side=True) as inside:
                number, login = self._receive(inside)
                self._authenticate(inside, number)
            return
        self._authenticate(client, number)

    def _build_greeting(self) -> bytes:
        flags = LONG_PASSWORD | WITH_DATABASE | PROTOCOL_41 | SECURE | PLUGIN_AUTH | (SSL if self.tls else 0)
        return (
            b"\x0a8.0.0\x00"
            + struct.pack("<I", 7)
            + NONCE[:8]
            + b"\x00"
            + struct.pack("<H", flags & 0xFFFF)
            + b"\x2d"
            + struct.pack("<H", 2)
            + struct.pack("<H", flags >> 16)
            + b"\x15"
            + bytes(10)
            + NONCE[8:]
            + b"\x00"
            + self.greets.encode("latin-1")
            + b"\x00"
        )

    def _authenticate(self, client: socket.socket, number: int) -> None:
        method = self.asks or self.greets
        if self.asks:
            data = b"\x04Password: " if method == "dialog" else NONCE + b"\x00"
            number, answer = self._exchange(client, number, b"\xfe" + method.encode("latin-1") + b"\x00" + data)
        if method == "caching_sha2_password":
            if self.believes:
                number = _send(client, number + 1, b"\x01\x03")
            else:
                number, answer = self._exchange(client, number, b"\x01\x04")
                if answer == b"\x02":
                    self._exchange(client, number, b"\x01" + PUBLIC_KEY)
        elif method == "sha256_password":
            self._exchange(client, number, b"\x01" + PUBLIC_KEY)
        if not self.believes:
            _send(client, number + 1, b"\xff" + struct.pack("<H", 1045) + b"#28000no")
            return
        _send(client, number + 1, OK)
        while True:
            number, _ = self._receive(client)
            _send(client, number + 1, OK)

    def _exchange(self, client: socket.socket, number: int, body: bytes) -> tuple[int, bytes]:
        _send(client, number + 1, body)
        return self._receive(client)

    def _receive(self, client: socket.socket) -> tuple[int, bytes]:
        head = self._read(client, 4)
        body = self._read(client, int.from_bytes(head[:3], "little"))
        self.packets.append(body)
        return head[3], body

    def _read(self, client: socket.socket, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = client.recv(count - len(data))
            if not piece:
                raise EOFError
            self.heard += piece
            data += piece
        return data


def _send(client: socket.socket, number: int, body: bytes) -> int:
    """Send a packet, and return its number."""
    client.sendall(struct.pack("<I", len(body))[:3] + bytes([number % 256]) + body)
    return number
