"""Which model servers are called, decided for the address that a connection is about to be made to."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest
import uvloop

from lumos_queue.endpoints import dial
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.connection import Unreachable
from lumos_queue.endpoints.connections import Connections
from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.settings import Settings, read_settings
from tests.fake_endpoint import FakeEndpoint

BOTH_LOOPS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("169.254.169.254", "link-local"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("100.100.100.200", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("168.63.129.16", "metadata"),
        ("192.0.0.192", "metadata"),
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("255.255.255.255", "broadcast"),
        ("::ffff:169.254.169.254", "link-local"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("2002:a9fe:a9fe::1", "link-local"),
        ("::169.254.169.254", "link-local"),
        ("::ffff:0.0.0.0", "unspecified"),
        ("64:ff9b::6464:64c8", "metadata"),
        ("fe80::1%1", "link-local"),
    ],
)
def test_addresses_that_are_not_a_model_servers_are_refused_by_default(address, kind):
    told = Hosts().problem("host", 80, address)
    assert kind in told and "LUMOS_ENDPOINT_HOSTS" in told and len(told) < 200
    assert Hosts("host").problem("host", 80, address) and Hosts("0.0.0.0/0, ::/0").problem("host", 80, address)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.5", "192.168.1.1", "fd12::1", "8.8.8.8"])
def test_this_machine_and_private_networks_are_where_model_servers_live(address):
    assert Hosts().problem("host", 80, address) == ""


def test_an_address_that_is_listed_as_itself_is_meant():
    hosts = Hosts("169.254.7.7, [fe80::7]:8080")
    assert hosts.problem("169.254.7.7", 80, "169.254.7.7") == ""
    assert hosts.problem("gpu", 80, "::ffff:169.254.7.7") == ""
    assert hosts.problem("gpu", 8080, "fe80::7") == ""
    assert hosts.problem("gpu", 80, "fe80::7")
    assert hosts.problem("169.254.7.8", 80, "169.254.7.8")


@pytest.mark.parametrize(
    ("host", "port", "address", "fits"),
    [
        ("gpu-1", 8080, "10.0.0.1", True),
        ("gpu-1", 9090, "10.0.0.1", False),
        ("gpu-2", 1, "10.0.0.1", True),
        ("a.models.example", 1, "9.9.9.9", True),
        ("models.example", 1, "9.9.9.9", False),
        ("evilmodels.example", 1, "9.9.9.9", False),
        ("other", 1, "10.1.2.3", True),
        ("other", 1, "10.2.0.1", False),
        ("::1", 1, "::1", True),
        ("other", 1, "::ffff:10.1.0.9", True),
        ("127.0.0.1", 5000, "127.0.0.1", True),
        ("127.0.0.1", 5001, "127.0.0.1", False),
    ],
)
def test_a_list_allows_names_suffixes_addresses_and_networks(host, port, address, fits):
    hosts = Hosts("GPU-1:8080, gpu-2, *.models.example, 10.1.0.0/16, ::1, 127.0.0.1:5000,")
    assert (hosts.problem(host, port, address) == "") is fits


@pytest.mark.parametrize("entry", ["http://host", "host:port", "10.0.0.1/16", "a b", "*", "ho*st", "[::1", "me@host"])
def test_an_entry_that_cannot_be_read_is_refused_at_the_start(entry, monkeypatch):
    monkeypatch.setenv("LUMOS_ENDPOINT_HOSTS", f"fine, {entry}")
    with pytest.raises(SpecError, match=r"LUMOS_ENDPOINT_HOSTS has '.*': expected HOST, HOST:PORT"):
        read_settings()


def resolver(*addresses: tuple[str, int]):
    """Stands for any name: the addresses that a resolver would give."""

    async def look_up(_host: str, _port: int):
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))
            for address, port in addresses
        ]

    return look_up


@pytest.mark.parametrize("scheme", ["tgi", "openai", "chat"])
def test_a_refusal_is_one_line_and_nothing_is_sent(scheme, monkeypatch):
    async def told(call) -> str:
        endpoint = open_endpoint(url, Settings(request_retries=0, endpoint_hosts="elsewhere"))
        try:
            with pytest.raises((InfrastructureError, SpecError)) as caught:
                await call(endpoint)
            return str(caught.value)
        finally:
            await endpoint.close()

    with FakeEndpoint(lambda _: "fine") as server:
        url = getattr(server, scheme)
        for call in (lambda one: one.generate(ModelCall("Hello?", Sampling(), 7)), lambda one: one.identity()):
            said = asyncio.run(told(call))
            assert "is not among LUMOS_ENDPOINT_HOSTS" in said and "\n" not in said
        assert (server.count, len(server.connections)) == (0, 0)


def test_every_connection_is_checked_after_the_name_was_looked_up(monkeypatch):
    """A name that stands for another address the second time (DNS rebinding)."""

    async def run(port: int) -> None:
        monkeypatch.setattr(dial, "_look_up", resolver(("127.0.0.1", port)))
        connections = Connections(f"http://gpu:{port}", {}, 1.0, 10_000)
        assert (await connections.request("GET", "/health", b"", 5)).status == 200
        connections.close()
        monkeypatch.setattr(dial, "_look_up", resolver(("169.254.169.254", 80)))
        with pytest.raises(Unreachable, match=r"169\.254\.169\.254 is a link-local address"):
            await connections.request("GET", "/health", b"", 5)

    with FakeEndpoint(lambda _: "fine") as server:
        asyncio.run(run(server.port))


@BOTH_LOOPS
@pytest.mark.parametrize("first", ["closed", "silent"])
def test_a_dead_first_address_costs_a_moment(first, run, monkeypatch):
    """Closed: it refuses. Silent: its backlog is full, and nothing comes back, as from a machine that is off."""

    async def connect(port: int, dead: int) -> None:
        monkeypatch.setattr(dial, "_look_up", resolver(("127.0.0.1", dead), ("127.0.0.1", port)))
        connections = Connections("http://gpu:80", {}, 60.0, 10_000)  # so long it would wait for the dead one
        assert (await connections.request("GET", "/health", b"", 20)).status == 200
        connections.close()

    with FakeEndpoint(lambda _: "fine") as server, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        waiting = []
        if first == "silent":
            listener.listen(0)
            for _ in range(4):
                waiting.append(socket.socket())
                waiting[-1].setblocking(False)
                waiting[-1].connect_ex(listener.getsockname())
            time.sleep(0.05)
        run(connect(server.port, listener.getsockname()[1]))
        for one in waiting:
            one.close()


@BOTH_LOOPS
def test_when_no_address_answers_it_is_unreachable(run, monkeypatch):
    async def connect() -> None:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            other.bind(("127.0.0.1", 0))
            monkeypatch.setattr(dial, "_look_up", resolver(one.getsockname(), other.getsockname()))
            with pytest.raises(Unreachable, match="no connection"):
                await Connections("http://gpu:80", {}, 2.0, 10_000).request("GET", "/", b"", 5)

    run(connect())


def test_a_name_that_cannot_be_one_is_unreachable():
    async def connect() -> None:
        with pytest.raises(Unreachable, match="no connection"):
            await Connections(f"http://{'a' * 80}.example", {}, 2.0, 10_000).request("GET", "/", b"", 5)

    asyncio.run(connect())


def test_trusted_certificates_are_read_once(monkeypatch, tmp_path):
    assert dial.tls_context() is dial.tls_context()
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    assert dial.tls_context() is dial.tls_context()


def test_a_process_in_another_folder_can_be_told_which_certificates_are_trusted(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", "mine.pem")
    monkeypatch.setenv("SSL_CERT_DIR", "/etc/a:b")
    assert dial.certificate_variables() == {
        "SSL_CERT_FILE": f"{tmp_path}/mine.pem",
        "SSL_CERT_DIR": f"/etc/a:{tmp_path}/b",
    }
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.delenv("SSL_CERT_DIR")
    assert dial.certificate_variables() == {}
