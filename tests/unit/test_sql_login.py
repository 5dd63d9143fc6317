"""No MySQL server gets a password that it must not have, whatever it asks for; some get not even the user's name."""

from __future__ import annotations

import asyncio
import hashlib
import socket

import pymysql
import pytest

from lumos_queue.actions.sql import login
from lumos_queue.actions.sql.login import open_connection
from lumos_queue.actions.sql.server import open_access
from lumos_queue.actions.sql.tools import open_tools
from lumos_queue.endpoints import dial
from lumos_queue.errors import InfrastructureError
from lumos_queue.settings import Settings
from lumos_queue.util.addresses import DATABASE_PORTS, Origin
from tests.certificates import Authority, server_context
from tests.rogue_mysql import NONCE, RogueMysql

USER, PASSWORD = "agent-of-the-worker", "s3cret-of-the-worker"
BOUND, UNBOUND = True, False
#: What a server may ask for: method of the greeting, method of a switch.
TRICKS = [
    ("mysql_native_password", "mysql_clear_password"),
    ("mysql_native_password", "dialog"),
    ("mysql_native_password", "sha256_password"),
    ("mysql_native_password", "caching_sha2_password"),
    ("mysql_native_password", "mysql_old_password"),
    ("mysql_native_password", "mysql_cle\xe4r_password"),
    ("sha256_password", ""),
    ("caching_sha2_password", ""),
    ("mysql_clear_password", "mysql_clear_password"),
    ("dialog", "dialog"),
]

#: What is no greeting of a MySQL server, or only the beginning of one.
GREETINGS = [
    b"",
    b"\x0a",
    b"\x0aeight\0" + bytes(60),
    b"\xff",
    b"\xfe",
    bytes(300),
    b"\x0a8\0" + b"\xff" * 99,
    b"HTTP/1.1",
]


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def right(authority):
    """TLS with a certificate for localhost."""
    return server_context(*authority.issue("DNS:localhost"))


@pytest.fixture
def beyond(monkeypatch, authority):
    """The loopback address counts as that of another machine; the authority is trusted."""
    monkeypatch.setattr(login, "is_loopback", lambda address: False)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))


@pytest.fixture(autouse=True)
def readable_encryption(monkeypatch):
    """What pymysql would encrypt for a server's RSA key can be recognised, with or without the package for it."""
    monkeypatch.setattr(pymysql._auth, "sha2_rsa_encrypt", lambda password, salt, key: password)


def log_in(rogue: RogueMysql, bound: bool, host: str = "localhost"):
    server = {
        "origin": f"mysql://{host}:{rogue.port}",
        "host": host,
        "port": rogue.port,
        "bound": bound,
        "addresses": [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", rogue.port))],
        "user": USER,
        "password": PASSWORD,
    }
    return open_connection(server, "shop")


def heard(rogue: RogueMysql) -> tuple[bool, bool]:
    """Whether the server got the user's name, and the password."""
    return USER.encode() in rogue.heard, PASSWORD.encode() in rogue.heard


@pytest.mark.parametrize(("greets", "asks"), TRICKS)
@pytest.mark.parametrize("bound", [BOUND, UNBOUND], ids=["line", "setting"])
def test_a_server_of_this_machine_gets_no_password_outside_tls(greets, asks, bound):
    with RogueMysql(greets, asks) as rogue, pytest.raises(InfrastructureError, match="MySQL server mysql://localhost"):
        log_in(rogue, bound)
    assert heard(rogue) == (True, False)
    assert b"\x02" not in rogue.packets, "the server's RSA key was asked for"


@pytest.mark.parametrize(("greets", "asks"), TRICKS)
def test_tls_of_any_server_does_not_open_the_setting(greets, asks, right):
    with RogueMysql(greets, asks, tls=right) as rogue, pytest.raises(InfrastructureError):
        log_in(rogue, UNBOUND)
    assert heard(rogue) == (True, False)


@pytest.mark.parametrize("method", ["mysql_clear_password", "sha256_password", "caching_sha2_password"])
def test_the_server_of_a_line_may_get_the_password_inside_tls(method, right):
    with RogueMysql(asks=method, tls=right) as rogue, pytest.raises((InfrastructureError, pymysql.MySQLError)):
        log_in(rogue, BOUND)
    assert PASSWORD.encode() + b"\0" in rogue.packets


def test_who_is_refused_reads_what_to_do():
    with RogueMysql(asks="caching_sha2_password") as rogue:
        with pytest.raises(
            InfrastructureError, match=r"write a line 'mysql://localhost:\d+ USER PASSWORD' into .*KEYS"
        ):
            log_in(rogue, UNBOUND)
        with pytest.raises(InfrastructureError, match="offers no TLS: turn TLS on there"):
            log_in(rogue, BOUND)
        rogue.asks = "mysql_clear_password"
        with pytest.raises(
            InfrastructureError, match="by 'mysql_clear_password', which is refused here: use an account"
        ):
            log_in(rogue, UNBOUND)
        rogue.asks = "dialog\n\x1b[2J" + "x" * 5000
        with pytest.raises(InfrastructureError, match="use an account of mysql_native_password") as caught:
            log_in(rogue, BOUND)
    assert len(str(caught.value)) < 300 and str(caught.value).isprintable()


@pytest.mark.parametrize("greets", ["mysql_native_password", "caching_sha2_password"])
def test_a_challenge_is_answered(greets):
    with RogueMysql(greets, believes=True) as rogue:
        log_in(rogue, UNBOUND).close()
    assert heard(rogue) == (True, False)


def test_a_challenge_after_a_switch_is_answered_as_mysql_does_it():
    with RogueMysql(asks="caching_sha2_password", believes=True) as rogue:
        log_in(rogue, UNBOUND).close()
    once = hashlib.sha256(PASSWORD.encode()).digest()
    mask = hashlib.sha256(hashlib.sha256(once).digest() + NONCE).digest()
    assert bytes(left ^ right for left, right in zip(once, mask, strict=True)) in rogue.packets


def test_beyond_loopback_a_server_without_tls_gets_nothing(beyond):
    with RogueMysql(believes=True) as rogue, pytest.raises(InfrastructureError, match="offers no TLS, and no account"):
        log_in(rogue, BOUND)
    assert rogue.heard == b""


@pytest.mark.parametrize(
    ("name", "days", "trusted", "problem"),
    [
        ("DNS:localhost", 2, False, "unable to get local issuer certificate"),
        ("DNS:localhost", -1, True, "expired"),
        ("DNS:elsewhere.example", 2, True, "Hostname mismatch"),
        ("IP:127.0.0.1", 2, True, "Hostname mismatch"),
    ],
)
def test_beyond_loopback_a_wrong_certificate_gets_nothing(beyond, authority, tmp_path, name, days, trusted, problem):
    signer = authority if trusted else Authority(tmp_path / "other")
    context = server_context(*signer.issue(name, days=days))
    with (
        RogueMysql(tls=context, believes=True) as rogue,
        pytest.raises(InfrastructureError, match=f"is not accepted .*{problem}.*no account was sent.*SSL_CERT_FILE"),
    ):
        log_in(rogue, BOUND)
    assert heard(rogue) == (False, False)


def test_beyond_loopback_a_right_certificate_gets_its_account(beyond, right):
    with RogueMysql(tls=right, believes=True) as rogue:
        log_in(rogue, BOUND).close()
    assert heard(rogue) == (True, False)


@pytest.mark.parametrize("host", ["db.example.org", "localhost.evil.example"])
def test_a_name_that_stands_for_loopback_needs_its_certificate(authority, right, monkeypatch, host):
    """Who answers for the name's address may have chosen this machine, where other users listen, too."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    with RogueMysql(believes=True) as rogue, pytest.raises(InfrastructureError, match="offers no TLS, and no account"):
        log_in(rogue, BOUND, host)
    assert rogue.heard == b""
    with RogueMysql(tls=right, believes=True) as rogue, pytest.raises(InfrastructureError, match="Hostname mismatch"):
        log_in(rogue, BOUND, host)
    assert heard(rogue) == (False, False)


def test_beyond_loopback_the_setting_is_never_used(beyond, right):
    with RogueMysql(tls=right, believes=True) as rogue, pytest.raises(InfrastructureError, match="gets no account"):
        log_in(rogue, UNBOUND)
    assert rogue.heard == b""


@pytest.mark.parametrize("greeting", GREETINGS)
def test_what_is_no_greeting_is_the_servers_fault(greeting):
    with RogueMysql(greeting=greeting) as rogue, pytest.raises((InfrastructureError, pymysql.MySQLError)):
        log_in(rogue, UNBOUND)
    assert not heard(rogue)[1]


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [("mysql://127.0.0.1:3307", "127.0.0.1", 3307), ("mysql://DB-1/", "db-1", 3306), ("mysql://[::1]", "::1", 3306)],
)
def test_the_options_of_stored_jobs_name_the_same_server(url, host, port):
    server = open_tools({"mysql": url, "writes": "no", "turns": "1"}).server
    assert server == Origin("mysql", host, port)


def describe(url: str, **settings) -> dict:
    return asyncio.run(open_access(Origin.of(url, DATABASE_PORTS), Settings(**settings)).describe())


def keys_in(folder, text: str):
    path = folder / "keys"
    path.touch(0o600)
    path.write_text(text)
    return path


def test_an_account_is_that_of_the_servers_line(tmp_path):
    keys = keys_in(tmp_path, "mysql://127.0.0.1:3307 ann pass#1\nhttp://127.0.0.1:3306 key\n")
    setting = {"mysql_user": "bob", "mysql_password": "pass2", "api_keys": keys}
    for url, user, bound in (("mysql://127.0.0.1:3307", "ann", True), ("mysql://127.0.0.1", "bob", False)):
        account = describe(url, **setting)
        assert (account["user"], account["bound"]) == (user, bound)
    with pytest.raises(InfrastructureError, match=r"no account for .* mysql://127\.0\.0\.1 here: write a line"):
        describe("mysql://127.0.0.1", api_keys=keys)


def test_the_setting_is_for_loopback_whatever_a_name_says(monkeypatch):
    async def elsewhere(host: str, port: int):
        return [(2, 1, 6, "", ("10.255.255.1", port))]

    setting = {"mysql_user": USER, "mysql_password": PASSWORD}
    with pytest.raises(InfrastructureError, match=r"8\.8\.8\.8 is another machine.*'mysql://8\.8\.8\.8:3306 "):
        describe("mysql://8.8.8.8", **setting)
    monkeypatch.setattr(dial, "_look_up", elsewhere)
    with pytest.raises(InfrastructureError, match=r"10\.255\.255\.1 is another machine, and LUMOS_MYSQL_USER"):
        describe("mysql://localhost", **setting)


def test_a_server_is_one_that_may_be_called(tmp_path):
    setting = {"mysql_user": USER, "mysql_password": PASSWORD}
    keys = keys_in(tmp_path, f"mysql://169.254.169.254:80 {USER} {PASSWORD}")
    with pytest.raises(InfrastructureError, match=r"not called from here: .*link-local address.*LUMOS_ENDPOINT_HOSTS"):
        describe("mysql://169.254.169.254:80", api_keys=keys)
    with pytest.raises(InfrastructureError, match=r"127\.0\.0\.1:3306 .*is not among LUMOS_ENDPOINT_HOSTS"):
        describe("mysql://127.0.0.1", endpoint_hosts="models.example:8080", **setting)
    assert describe("mysql://127.0.0.1", endpoint_hosts="127.0.0.1:3306", **setting)["addresses"]


def test_the_password_is_in_no_message_and_no_text(tmp_path):
    access = open_access(Origin("mysql", "host", 1), Settings(mysql_user=USER, mysql_password=PASSWORD))
    assert PASSWORD not in f"{access!r} {access.account!r}"
    with RogueMysql(asks="mysql_clear_password") as rogue, pytest.raises(InfrastructureError) as caught:
        log_in(rogue, UNBOUND)
    assert PASSWORD not in str(caught.value)
    assert open_access(Origin("mysql", "host", 1), None).account is None
