"""Accounts of MySQL servers, from a job's option to the server: a real MariaDB server, and rogues that ask for more."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.episode import StepContext
from lumos_queue.errors import InfrastructureError
from lumos_queue.records import Action, Task
from lumos_queue.settings import Settings
from tests.certificates import Authority, server_context
from tests.mariadb import run_mariadb
from tests.rogue_mysql import RogueMysql

PASSWORD = "s3cret-wörd"
WORKER = {"mysql_user": "agent-of-the-worker", "mysql_password": "s3cret-of-the-worker"}


def find_own_address() -> str:
    """Return an address of this machine that is not a loopback one; '' where there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return ""
        address = probe.getsockname()[0]
    return "" if address.startswith("127.") else address


@pytest.fixture
def address() -> str:
    return find_own_address() or pytest.skip("this machine has no address but loopback")


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def port(tmp_path_factory, authority):
    """The port of a MariaDB server that has TLS, on all addresses of this machine."""
    certificate, key = authority.issue(f"IP:{find_own_address() or '127.0.0.1'}")
    statements = (
        "CREATE DATABASE shop",
        "CREATE TABLE shop.hat (name TEXT)",
        "INSERT INTO shop.hat VALUES ('Fez')",
        f"CREATE USER 'local'@'localhost' IDENTIFIED BY '{PASSWORD}'",
        "GRANT SELECT ON shop.* TO 'local'@'localhost'",
        f"CREATE USER 'remote'@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE SSL",
        "GRANT SELECT ON shop.* TO 'remote'@'%'",
    )
    options = ("--bind-address=0.0.0.0", f"--ssl-cert={certificate}", f"--ssl-key={key}", f"--ssl-ca={authority.file}")
    with run_mariadb(tmp_path_factory.mktemp("mariadb"), statements, *options) as number:
        yield number


@pytest.fixture(autouse=True)
def own_helper_process(own_helper_processes, monkeypatch, authority):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))


def write_keys(folder: Path, *lines: str) -> Path:
    path = folder / "keys"
    path.touch(0o600)
    path.write_text("\n".join(lines))
    return path


def ask(url: str, **settings) -> list[list]:
    """The rows of a query that a job's episode makes."""

    async def episode():
        actions = SqlActions(SqlActions.prepare({"mysql": url}), Settings(**settings))
        session = actions.begin(Task("intercode_sql", "", "1", "?", {"database": "shop"}))
        try:
            execution = await session.execute(Action(("R1",), "", "SELECT name FROM hat"), StepContext(0, 0))
        finally:
            await actions.close()
        assert execution.ok, execution.message
        return execution.values[0]["rows"]

    return asyncio.run(episode())


def test_a_line_and_the_settings_log_in_on_loopback(port, tmp_path):
    keys = write_keys(tmp_path, f"mysql://127.0.0.1:{port} local {PASSWORD}")
    assert ask(f"mysql://127.0.0.1:{port}", api_keys=keys) == [["Fez"]]
    assert ask(f"mysql://localhost:{port}", mysql_user="local", mysql_password=PASSWORD) == [["Fez"]]
    with pytest.raises(InfrastructureError, match=f"no account for the MySQL server mysql://localhost:{port} here"):
        ask(f"mysql://localhost:{port}", api_keys=keys)


def test_a_line_logs_in_beyond_loopback_over_verified_tls(port, address, tmp_path):
    url = f"mysql://{address}:{port}"
    keys = write_keys(tmp_path, f"{url} remote {PASSWORD}")
    assert ask(url, api_keys=keys) == [["Fez"]]


def test_an_authority_that_nobody_trusts_ends_the_login(port, address, tmp_path, monkeypatch):
    url = f"mysql://{address}:{port}"
    keys = write_keys(tmp_path, f"{url} remote {PASSWORD}")
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(InfrastructureError, match=r"certificate of the MySQL server .* is not accepted"):
        ask(url, api_keys=keys)


@pytest.mark.parametrize("asks", ["mysql_clear_password", "caching_sha2_password", "dialog"])
def test_a_rogue_server_on_loopback_gets_no_password(asks):
    with RogueMysql(asks=asks) as rogue, pytest.raises(InfrastructureError, match="asks for the password"):
        ask(f"mysql://127.0.0.1:{rogue.port}", **WORKER)
    assert b"s3cret" not in rogue.heard


def test_a_server_that_is_not_listed_is_not_called():
    with (
        RogueMysql(asks="mysql_clear_password") as rogue,
        pytest.raises(InfrastructureError, match="is not among LUMOS_"),
    ):
        ask(f"mysql://127.0.0.1:{rogue.port}", endpoint_hosts="models.example:8080", **WORKER)
    assert rogue.heard == b""


@pytest.mark.parametrize("source", ["line", "settings"])
@pytest.mark.parametrize("tls", ["none", "untrusted", "expired", "of another host"])
def test_a_rogue_server_beyond_loopback_gets_nothing(source, tls, address, authority, tmp_path):
    name = "DNS:elsewhere.example" if tls == "of another host" else f"IP:{address}"
    signer = Authority(tmp_path / "other") if tls == "untrusted" else authority
    context = server_context(*signer.issue(name, days=-1 if tls == "expired" else 2)) if tls != "none" else None
    with RogueMysql(asks="mysql_clear_password", tls=context, host=address) as rogue:
        url = f"mysql://{address}:{rogue.port}"
        keys = write_keys(tmp_path, f"{url} {WORKER['mysql_user']} {WORKER['mysql_password']}")
        with pytest.raises(InfrastructureError, match=r"no account was sent|is another machine"):
            ask(url, **({"api_keys": keys} if source == "line" else WORKER))
    assert b"s3cret" not in rogue.heard and b"agent" not in rogue.heard
