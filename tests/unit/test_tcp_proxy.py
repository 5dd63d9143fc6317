import socket
import socketserver
import threading
from contextlib import closing

import pytest

from tests.tcp_proxy import TcpProxy


@pytest.fixture
def echo():
    class Echo(socketserver.BaseRequestHandler):
        def handle(self):
            while piece := self.request.recv(1000):
                self.request.sendall(piece)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def rest(connection: socket.socket) -> bytes:
    """What still comes until the other side closes."""
    found = b""
    try:
        while piece := connection.recv(100):
            found += piece
    except ConnectionResetError:
        pass
    return found


def test_a_proxy_passes_withholds_cuts_and_drops(echo):
    with TcpProxy(echo) as proxy, closing(socket.create_connection(("127.0.0.1", proxy.port), 2)) as one:
        one.sendall(b"hello")
        assert one.recv(100) == b"hello"
        proxy.mode = "black_hole"
        one.sendall(b"later")
        one.settimeout(0.3)
        with pytest.raises(TimeoutError):
            one.recv(100)
        with closing(socket.create_connection(("127.0.0.1", proxy.port), 2)) as other:  # new ones are taken, in silence
            other.sendall(b"new")
            proxy.mode = "delay"
            other.settimeout(3)
            assert other.recv(100) == b"new"
        one.settimeout(3)
        assert one.recv(100) == b"later"
        proxy.mode = "cut"
        one.sendall(b"12345678")
        assert len(rest(one)) < 8
    with TcpProxy(echo) as proxy, closing(socket.create_connection(("127.0.0.1", proxy.port), 2)) as one:
        one.sendall(b"hello")
        assert one.recv(100) == b"hello"
        proxy.mode = "drop"
        assert rest(one) == b""
