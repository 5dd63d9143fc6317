"""Connections of a real server: how many, how large and how slow they may be, before and after a login."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from db.engine.connection import Database
from lumos_queue.util.connection_counts import Connections
from lumos_queue.util.connection_limits import KIB, Limits
from lumos_queue.web.access.client_address import Proxies
from lumos_queue.web.access.users import Person, Role
from tests.certificates import Authority
from tests.explorers import RoleLogin, serve_explorer
from tests.raw_connections import (
    SECONDS,
    RawClient,
    is_open,
    raw_client,
    read_answer,
    read_to_end,
    wait_closed,
)
from tests.scored_jobs import create_scored_job
from tests.services import wait_until

FORM = "Content-Type: application/x-www-form-urlencoded"
LONG = 600.0  #: seconds of a limit that a test does not reach


@contextmanager
def serve(
    database: Database, files: Any = None, proxies: tuple[str, ...] = (), login: Any = None, **limits: Any
) -> Iterator[RawClient]:
    """Serve an explorer with these limits, for rita and bob; all limits of time are long unless they are given."""
    times = {"request_seconds": LONG, "body_seconds": LONG, "answer_seconds": LONG}
    state = {"connections": Connections(Limits(**{**times, **limits})), "proxies": Proxies(proxies)}
    login = login or RoleLogin({"rita": Role.OPERATOR, "bob": Role.READER})
    with serve_explorer(database, login, files, state) as explorer, raw_client(explorer) as client:
        yield client


def test_a_request_that_does_not_arrive_in_time_ends(database):
    with serve(database, request_seconds=0.3) as client:
        body = client.head("/login", FORM, "Content-Length: 9", method="POST") + "name="
        for data, status in (("", b""), ("GET /lo", b"408"), ("\r\n", b"408"), (body, b"408")):
            assert read_to_end(client.open(data))[9:12] == status, data


@pytest.mark.parametrize("part", [b"y" * 500, b"X: y\r\n" * 10])
@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n", b"\r\n"])
def test_a_head_that_does_not_end_is_not_kept(database, start, part):
    with serve(database, request_bytes=4 * KIB) as client:
        connection = client.open(start)
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(part)


def test_an_idle_connection_may_not_be_prolonged_by_line_breaks(database):
    with serve(database, request_seconds=0.3) as client:
        connection = client.open(client.head())
        assert read_answer(connection)[0] == 200
        connection.sendall(b"\r\n")
        assert read_to_end(connection)[9:12] == b"408"


def test_a_head_after_a_login_is_bounded_too(database):
    with serve(database, request_bytes=4 * KIB, request_seconds=0.5) as client:
        rita = client.explorer.client("rita")
        connection = client.open(client.head("/jobs", client=rita))
        assert read_answer(connection)[0] == 200
        connection.sendall(client.head("/jobs", "X: " + "y" * 5_000, client=rita).encode())
        assert b" 431 " in read_to_end(connection)
        connection = client.open(client.head("/jobs", client=rita))
        assert read_answer(connection)[0] == 200
        connection.sendall(b"GET /jobs HT")
        assert b" 408 " in read_to_end(connection)
        connection = client.open(client.head("/jobs", *["X: y"] * 300, client=rita))
        assert b" 431 " in read_to_end(connection)


def test_a_body_without_a_session_is_bounded_also_in_parts(database):
    with serve(database, request_bytes=8 * KIB) as client:
        head = client.head("/login", FORM, f"Content-Length: {2**30}", method="POST")
        assert read_answer(client.open(head)) == (413, b"This request may have at most 8.2 kB.\n")
        connection = client.open(client.head("/login", FORM, "Transfer-Encoding: chunked", method="POST"))
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(b"3e8\r\n" + b"x" * 1_000 + b"\r\n")
        assert client.explorer.client("rita").get("/jobs").status_code == 200


def test_a_form_that_needs_a_session_is_answered_before_its_body_arrives(database):
    with serve(database) as client:
        head = client.head("/jobs/x/state", FORM, "Content-Length: 20", method="POST")
        connection = client.open(head)
        assert read_answer(connection)[0] == 401
        connection.sendall(b"x" * 20 + client.head().encode())
        assert read_answer(connection)[0] == 200, "the body was received, and the connection continues"
        head = client.head("/jobs/x/state", FORM, "Transfer-Encoding: chunked", method="POST")
        connection = client.open(head)
        assert read_answer(connection)[0] == 401
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(b"3e8\r\n" + b"x" * 1_000 + b"\r\n")


def test_an_address_that_takes_all_its_connections_loses_the_oldest(database):
    with serve(database, of_address=4) as client:
        connections = [client.open() for _ in range(4)]
        wait_until(lambda: client.explorer.site.connections.count_address("127.0.0.1") == 4, "four are counted")
        elsewhere = client.open(source="127.0.0.2")
        answer = client.open(client.head())
        assert read_answer(answer)[0] == 200
        wait_closed(connections[0])
        assert all(map(is_open, [*connections[1:], elsewhere]))


def test_fifty_addresses_lock_out_nobody(database):
    with serve(database, connections=40, of_address=8) as client:
        rita = client.explorer.client("rita")
        person = client.open(client.head("/jobs", client=rita))
        assert read_answer(person)[0] == 200
        connections = [client.open(b"GET /", f"127.0.0.{2 + index % 50}") for index in range(200)]
        assert client.explorer.client("bob").get("/jobs").status_code == 200
        for connection in connections[:150]:
            wait_closed(connection)
        assert len(client.explorer.site.connections) <= 40
        assert rita.get("/jobs").status_code == 200


def test_a_person_has_a_bound_with_live_pages_and_others_have_their_own(database):
    job = create_scored_job(database, [[1]], pending=1)
    with serve(database, of_person=3, answers_of_person=1) as client:
        rita, bob = client.explorer.client("rita"), client.explorer.client("bob")
        wait_until(lambda: not client.explorer.site.connections.count_person("bob"), "logins count for nobody")
        pages = [client.open(client.head(f"/jobs/{job}/live", client=rita)) for _ in range(3)]
        assert all(b"text/event-stream" in page.recv(400) for page in pages)
        answer = read_to_end(client.open(client.head("/jobs", client=rita)))
        assert b" 503 " in answer and answer.endswith(b"\r\n\r\nYou have too many connections: close some pages.\n")
        assert bob.get("/jobs").status_code == 200
        pages[0].close()
        wait_until(lambda: rita.get("/jobs").status_code == 200, "a page was closed")


def test_a_connection_counts_for_the_session_of_its_latest_request(database):
    with serve(database) as client:
        rita, counts = client.explorer.client("rita"), client.explorer.site.connections
        rita.close()
        connection = client.open(client.head("/jobs", client=rita))
        assert read_answer(connection)[0] == 200 and counts.count_person("rita") == 1
        connection.sendall(client.head("/login").encode())
        assert read_answer(connection)[0] == 200
        assert counts.count_person("rita") == 0 and counts.count_address("127.0.0.1") >= 1
        connection.sendall(client.head("/jobs/x/state", f"Content-Length: {2**20}", method="POST").encode())
        assert read_answer(connection)[0] == 401


def test_behind_a_proxy_each_request_counts_for_its_client(database):
    with serve(database, proxies=("127.0.0.1",), of_address=2) as client:
        counts = client.explorer.site.connections
        network = "2001:db8:1:2::/64"
        requests = [client.head("/login", f"X-Forwarded-For: 2001:db8:1:2::{number}")[:-2] for number in range(4)]
        connections = [client.open(requests[0])]
        connections[0].sendall(b"\r\n")
        assert read_answer(connections[0])[0] == 200
        wait_until(lambda: counts.count_address(network) == 0, "between requests it is of the proxy")
        body = f"{FORM}\r\nContent-Length: 1\r\n\r\n"
        connections += [client.open(request.replace("GET", "POST") + body) for request in requests[1:]]
        wait_closed(connections[1])
        assert counts.count_address(network) == 2 and is_open(connections[2]) and is_open(connections[3])
        connections[0].sendall(client.head("/login", "X-Forwarded-For: 10.9.9.9").encode())
        assert read_answer(connections[0])[0] == 200


def test_pipelined_requests_are_answered_in_order_up_to_a_bound(database):
    with serve(database, pipeline=3) as client:
        connection = client.open(client.head("/login") + client.head("/nowhere") + client.head("/favicon.ico"))
        assert [read_answer(connection)[0] for _ in range(3)] == [200, 404, 204]
        answers = read_to_end(client.open(client.head("/login") * 100))
        assert answers.count(b"HTTP/1.1 ") < 100


def test_a_client_that_does_not_receive_its_answers_is_cut_off(database):
    with serve(database, answer_seconds=0.3, answer_rate=2**30, pipeline=2**20) as client:
        page = client.explorer.visitor().get("/login").text
        path = re.findall(r'src="(/static/[^"]+htmx[^"]+)"|href="(/static/[^"]+)"', page)[0]
        connections = client.explorer.site.connections
        client.explorer.clients.pop().close()
        wait_until(lambda: not len(connections), "the browser has left")
        connection = client.open(client.head("".join(path)), receive_bytes=4 * KIB)
        wait_until(lambda: len(connections), "it is counted")
        while len(connections):
            wait_until(lambda: not any(item.is_answering for item in connections), "sent, or cut off", SECONDS, 0.002)
            with suppress(ConnectionError):
                connection.sendall(client.head("".join(path)).encode())


class SlowLogin(RoleLogin):
    """Lets in `slow` after an event, and keeps the names that it has checked."""

    def __init__(self) -> None:
        super().__init__({})
        self.event, self.names = threading.Event(), []

    def admit(self, name: str, secret: str) -> Person | None:
        self.names.append(name)
        if name == "slow":
            self.event.wait(SECONDS)
        return None


def test_requests_whose_senders_have_left_are_not_answered(database):
    login = SlowLogin()
    with serve(database, login=login, answers_of_strangers=1) as client:

        def send(name: str, source: str) -> socket.socket:
            body = f"name={name}&secret=x"
            return client.open(
                client.head("/login", FORM, f"Content-Length: {len(body)}", method="POST") + body, source
            )

        connections = client.explorer.site.connections
        slow = send("slow", "127.0.0.1")
        wait_until(lambda: login.names, "it has the only turn")
        pending = [send(f"left{number}", "127.0.0.2") for number in range(5)] + [send("pending", "127.0.0.3")]
        wait_until(lambda: sum(item.is_answering for item in connections) == 7, "all have arrived")
        for connection in pending[:-1]:
            connection.close()
        wait_until(lambda: len(connections) == 2, "those that left are forgotten")
        login.event.set()
        assert [read_answer(connection)[0] for connection in (slow, pending[-1])] == [403, 403]
        assert login.names == ["slow", "pending"]


def test_slow_bodies_of_an_address_do_not_take_its_turns(database):
    with serve(database, answers_of_address=2, answers_of_strangers=2) as client:
        head = client.head("/login", FORM, "Content-Length: 9", method="POST")
        connections = [client.open(head + "name=") for _ in range(10)]
        assert client.explorer.client("rita").get("/jobs").status_code == 200
        assert all(map(is_open, connections))


def test_a_body_after_a_login_is_bounded_by_its_route(database):
    with serve(database, body_bytes=10_000, upload_bytes=200_000) as client:
        rita = client.explorer.client("rita")
        assert rita.submit("/jobs/x/state", {"deed": "x" * 20_000}).status_code == 413
        assert rita.submit("/annotate/x/labels", files={"file": b"x" * 100_000}).status_code == 404
        assert rita.submit("/annotate/x/labels", files={"file": b"x" * 300_000}).status_code == 413
        head = client.head("/jobs/x/state", FORM, "Transfer-Encoding: chunked", method="POST", client=rita)
        chunks = b"7d0\r\n" + b"x" * 2_000 + b"\r\n"
        assert read_answer(client.open(head.encode() + 6 * chunks + b"0\r\n\r\n"))[0] == 413
        connection = client.open(head)
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(chunks)
        connection = client.open(head + "1\r\nx\r\n0\r\nX: ")
        with pytest.raises(ConnectionError):
            while True:
                connection.sendall(b"y" * 1_000)


def test_a_body_after_a_login_has_its_own_time(database):
    with serve(database, body_seconds=0.3) as client:
        rita = client.explorer.client("rita")
        head = client.head("/jobs/x/state", FORM, "Content-Length: 9", method="POST", client=rita)
        assert b" 408 " in read_to_end(client.open(head + "x"))


def test_a_person_sends_two_slow_bodies_at_once_and_forms_besides(database):
    with serve(database) as client:
        rita, bob = client.explorer.client("rita"), client.explorer.client("bob")
        for person in (rita, bob):
            person.token()

        def begin() -> socket.socket:
            head = client.head("/jobs/x/state", FORM, "Content-Length: 9", method="POST", client=rita)
            return client.open(head + "deed=")

        connections = [begin() for _ in range(3)]
        wait_until(lambda: not all(map(is_open, connections)), "the third is answered")
        (refusal,) = [connection for connection in connections if not is_open(connection)]
        assert read_answer(refusal) == (503, b"You are sending 2 large requests already: wait until they end.\n")
        assert rita.submit("/jobs/x/state", {"deed": "pause"}).status_code == 404
        assert bob.submit("/jobs/x/state", {"deed": "pause"}).status_code == 403
        connections.remove(refusal)
        for connection in connections:
            connection.sendall(b"stop")
            assert read_answer(connection)[0] == 403, "without a token"
        connection = begin()
        connection.sendall(b"stop")
        assert read_answer(connection)[0] == 403, "its slots are free again"


def test_a_handshake_counts_and_ends(database, tmp_path):
    authority = Authority(tmp_path / "authority")
    context = ssl.create_default_context(cafile=str(authority.file))
    with serve(database, authority.issue("IP:127.0.0.1"), of_address=3, request_seconds=1.0) as client:
        silent, partial = client.open(), client.open(b"\x16\x03\x01\x02\x00")
        assert read_to_end(silent) == b"" and read_to_end(partial) == b""
        connections = [client.open() for _ in range(4)]
        wait_closed(connections[0])
        with context.wrap_socket(client.open(), server_hostname="127.0.0.1") as connection:
            connection.sendall(client.head().encode())
            assert read_answer(connection)[0] == 200
        with context.wrap_socket(client.open(), server_hostname="127.0.0.1") as connection:
            assert read_to_end(connection) == b"", "the time began before the handshake"
        read_to_end(client.open(client.head()))  # in clear
        wait_until(lambda: not len(client.explorer.site.connections), "all are closed", SECONDS)
