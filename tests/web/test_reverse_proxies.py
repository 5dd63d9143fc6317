"""The explorer behind nginx and Caddy, with the files of docs/explorer.md: clients, cookies and live pages."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from argon2 import PasswordHasher

from lumos_queue.web.access import passwords
from lumos_queue.web.access.login_limits import MAX_FAILURES
from lumos_queue.web.access.passwords import add_person
from tests.certificates import Authority
from tests.reverse_proxies import NAME, start_caddy, start_nginx
from tests.scored_jobs import create_scored_job
from tests.services import free_port, wait_until

PASSWORD = "correct horse"
SECONDS = 60.0


class ClientTransport(httpx2.HTTPTransport):
    """Connections from one address of this machine, for the host name of the explorer."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "sni_hostname": NAME}
        return super().handle_request(request)


class Site:
    """An explorer with people and passwords, as a process, and the clients of a test."""

    def __init__(self, folder: Path, database_url: str):
        self.folder = folder
        self.authority = Authority(folder / "authority")
        self.certificate = self.authority.issue(f"DNS:{NAME},IP:127.0.0.1")
        self.people = folder / "people.txt"
        add_person(self.people, "anna", "annotator", PASSWORD)
        self._database_url = database_url

    @contextmanager
    def serve(self, *options: str | Path) -> Iterator[int]:
        """Start `lumos web`. Yield its port."""
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LUMOS_")} | {
            "LUMOS_HOME": str(self.folder / "home"),
            "LUMOS_DATABASE_URL": self._database_url,
        }
        command = [sys.executable, "-m", "lumos_queue.cli.main", "web", "--port", str(port), "--passwords", self.people]
        log = self.folder / "web.log"
        with log.open("wb") as output:
            process = subprocess.Popen([*command, *options], env=environment, stdout=output, stderr=output)

        def is_started() -> bool:
            text = log.read_text(errors="replace")
            assert process.poll() is None, text
            return "limits:" in text

        try:
            wait_until(is_started, "the explorer has started", SECONDS)
            yield port
        finally:
            process.terminate()
            process.wait()

    def client(self, port: int, address: str = "127.0.0.2", **headers: str) -> httpx2.Client:
        """Return a client at that address of this machine, which connects to the port with TLS."""
        context = ssl.create_default_context(cafile=str(self.authority.file))
        transport = ClientTransport(verify=context, local_address=address)
        names = {"host": NAME, "origin": f"https://{NAME}", **headers}
        return httpx2.Client(
            base_url=f"https://127.0.0.1:{port}", headers=names, transport=transport, timeout=SECONDS, trust_env=False
        )


@pytest.fixture
def site(tmp_path, database, monkeypatch) -> Site:
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    return Site(tmp_path, database.url)


@pytest.fixture(params=["nginx", "Caddy", "Caddy before nginx"])
def port(request, site) -> Iterator[int]:
    """Start the explorer behind proxies. Yield the port of the outer proxy."""
    with ExitStack() as stack:
        explorer_port = stack.enter_context(site.serve("--name", NAME, "--proxy", "127.0.0.1"))
        upstream = f"127.0.0.1:{explorer_port}"
        if request.param != "Caddy":
            proxy = stack.enter_context(start_nginx(site.folder / "nginx", upstream, site.certificate))
        if request.param == "Caddy before nginx":
            # The inner proxy's certificate is signed by an authority that only the test trusts.
            upstream = f"https://127.0.0.1:{proxy.port}"
            block = f"header_up Host {NAME}\ntransport http {{\ntls_trusted_ca_certs {site.authority.file}\n}}"
            proxy = stack.enter_context(start_caddy(site.folder / "caddy", upstream, site.certificate, block))
        elif request.param == "Caddy":
            proxy = stack.enter_context(start_caddy(site.folder / "caddy", upstream, site.certificate))
        yield proxy.port


def log_in(client: httpx2.Client, secret: str = PASSWORD, name: str = "anna") -> httpx2.Response:
    return client.post("/login", data={"name": name, "secret": secret})


def test_a_person_logs_in_and_sees_live_pages(site, port, database):
    job = create_scored_job(database, [[1]], owed=1)
    client = site.client(port)
    assert client.get("/jobs").headers["location"].startswith("/login")
    answer = log_in(client)
    assert answer.status_code == 303 and "secure" in answer.headers["set-cookie"].lower()
    assert "anna, annotator" in client.get("/jobs").text
    with client.stream("GET", f"/jobs/{job}/live") as stream:
        assert "event: live" in stream.iter_lines()  # the stream does not end: it is not buffered


def test_failures_of_a_client_do_not_lock_out_another(site, port):
    stranger = site.client(port, "127.0.0.3")
    for number in range(MAX_FAILURES):  # a forged header does not make another client
        answer = log_in(site.client(port, "127.0.0.3", **{"x-forwarded-for": f"10.0.0.{number}"}), "wrong horse")
        assert answer.status_code == 403
    assert log_in(stranger).status_code == 429
    for forged in ("127.0.0.2", "10.1.1.1", "127.0.0.1", "nonsense"):
        assert log_in(site.client(port, "127.0.0.3", **{"x-forwarded-for": forged})).status_code == 429
    # The forged addresses were not counted either.
    assert log_in(site.client(port, "127.0.0.2")).status_code == 303


def test_a_forged_scheme_makes_no_insecure_cookie(site, port):
    answer = log_in(site.client(port, **{"x-forwarded-proto": "http"}))
    assert answer.status_code == 303 and "secure" in answer.headers["set-cookie"].lower()


@pytest.mark.parametrize("names", [{"host": "other.example.org"}, {"origin": "https://other.example.org"}])
def test_another_host_or_origin_is_refused(site, port, names):
    answer = log_in(site.client(port, **names))
    assert answer.status_code in (403, 421) or not answer.content  # Caddy answers for other hosts, with nothing
    assert "set-cookie" not in answer.headers


def test_http_is_redirected(site):
    with (
        site.serve("--name", NAME, "--proxy", "127.0.0.1") as explorer_port,
        start_nginx(site.folder / "nginx", f"127.0.0.1:{explorer_port}", site.certificate) as proxy,
    ):
        address = f"http://127.0.0.1:{proxy.http_port}/jobs?where=x"
        answer = httpx2.get(address, headers={"host": NAME}, trust_env=False)
    assert answer.status_code == 301 and answer.headers["location"] == f"https://{NAME}/jobs?where=x"


def test_without_a_proxy_the_explorer_has_tls_itself_and_believes_no_header(site):
    options: list[Any] = ["--certificate", site.certificate[0], "--key", site.certificate[1], "--name", NAME]
    with site.serve(*options) as port:
        for number in range(MAX_FAILURES):
            client = site.client(port, "127.0.0.3", **{"x-forwarded-for": f"10.0.0.{number}"})
            assert log_in(client, "wrong horse").status_code == 403
        assert log_in(site.client(port, "127.0.0.3", **{"x-forwarded-for": "10.9.9.9"})).status_code == 429
        answer = log_in(site.client(port, "127.0.0.2", **{"x-forwarded-proto": "http"}))
        assert answer.status_code == 303 and "secure" in answer.headers["set-cookie"].lower()
