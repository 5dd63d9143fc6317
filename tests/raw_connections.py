"""Connections to a server on which tests send bytes as they like."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.explorers import Client, Explorer
from tests.services import wait_until

SECONDS = 60  #: that an answer may take


class RawClient:
    """Opens connections to an explorer, and closes them at the end."""

    def __init__(self, explorer: Explorer):
        self.explorer = explorer
        self.host = urlsplit(explorer.url).netloc
        self.sockets: list[socket.socket] = []

    def open(self, data: bytes | str = b"", source: str = "127.0.0.1", receive_bytes: int = 0) -> socket.socket:
        """Return a connection from the address `source` on which `data` has been sent."""
        connection = socket.socket()
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.settimeout(SECONDS)
        connection.bind((source, 0))
        name, port = self.host.split(":")
        connection.connect((name, int(port)))
        self.sockets.append(connection)
        connection.sendall(data.encode() if isinstance(data, str) else data)
        return connection

    def head(self, path: str = "/login", *headers: str, method: str = "GET", client: Client | None = None) -> str:
        """Return a head; with the session of `client`."""
        session = [f"Cookie: {self.explorer.site.cookie}={client.cookies[self.explorer.site.cookie]}"] if client else []
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", f"Origin: {self.explorer.url}", *session, *headers]
        return "".join(f"{line}\r\n" for line in lines) + "\r\n"


@contextmanager
def raw_client(explorer: Explorer) -> Iterator[RawClient]:
    client = RawClient(explorer)
    try:
        yield client
    finally:
        for connection in client.sockets:
            connection.close()


def read_to_end(connection: socket.socket) -> bytes:
    """Return everything until the server closes the connection."""
    data = b""
    try:
        while part := connection.recv(65_536):
            data += part
    except ConnectionError:
        pass
    return data


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    """Return the status and the body of one answer that has a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(1)
        assert part, f"the connection has ended after {data!r}"
        data += part
    head = data.lower()
    size = int(head.partition(b"content-length: ")[2].split(b"\r")[0]) if b"content-length: " in head else 0
    body = b""
    while len(body) < size:
        body += connection.recv(size - len(body))
    return int(data.split()[1]), body


def is_open(connection: socket.socket) -> bool:
    """Return whether the server has neither sent anything nor closed the connection. Nothing is taken from it."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    finally:
        connection.settimeout(SECONDS)
    return False


def wait_closed(connection: socket.socket) -> None:
    wait_until(lambda: not is_open(connection), "the server closes a connection", SECONDS)
