"""Who may come in, from where, and what each role may ask for."""

from __future__ import annotations

import http.client
import io
import os
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queries.web_actions import list_actions
from lumos_queue.cli.main import main
from lumos_queue.settings import Settings
from lumos_queue.web.access.passwords import PasswordFile, add_person
from lumos_queue.web.access.users import Role
from lumos_queue.web.app import ROUTERS
from lumos_queue.web.request_context import role_of_route
from tests.conftest import ROOT
from tests.explorers import Client
from tests.scored_jobs import create_scored_job
from tests.stored_rows import state

OPEN_TO_ALL = {"/", "/login", "/favicon.ico", "/static/{digest}/{name}"}


ROUTES = [route for router in ROUTERS for route in router.routes]


def filled(path: str, job: str) -> str:
    """A path with names that are there where they can be."""
    for name in ("{name}", "{job}"):
        path = path.replace(name, job)
    for part in path.split("/"):
        if part.startswith("{"):
            path = path.replace(part, f"{job}-0" if "episode" in part else "x")
    return path


def test_every_route_names_a_role_or_is_open_to_all():
    unguarded = {route.path for route in ROUTES if role_of_route(route) is None}
    assert unguarded == OPEN_TO_ALL
    for route in ROUTES:
        reads = route.methods <= {"GET", "HEAD"}
        if not reads and route.path not in ("/login", "/logout"):
            assert role_of_route(route) in (Role.ANNOTATOR, Role.OPERATOR), f"a reader may post to {route.path}"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_every_route_as_each_role_and_without_a_login(many, database):
    """Nothing fails with a fault of ours, nobody gets in without a login, and what a role may not is refused."""
    job = create_scored_job(database, [[1], [0]])
    clients = {
        role: many.client(name)
        for name, role in (("rita", Role.READER), ("anna", Role.ANNOTATOR), ("otto", Role.OPERATOR))
    }
    nobody = many.visitor()
    for route in ROUTES:
        path, needed = filled(route.path, job), role_of_route(route)
        if path.endswith("/live") or path == "/logout":
            continue
        for method in route.methods - {"HEAD"}:
            alone = nobody.request(method, path)
            if needed:
                assert alone.status_code in (303, 401), (method, path)
                assert method != "GET" or alone.headers["location"].startswith("/login?next=")
            for role, client in clients.items():
                data = {"token": client.token()} if method == "POST" and needed else None
                answer = client.request(method, path, data=data)
                assert answer.status_code < 500, (method, path, role, answer.text[-500:])
                if needed and not role.includes(needed):
                    assert answer.status_code == 403 and f"needs the role {needed}" in answer.text, (method, path, role)
                else:
                    assert answer.status_code != 403, (method, path, role)
    with database.engine.connect() as connection:
        assert not [row for row in list_actions(connection, 100) if row.person == "rita"]


def test_a_post_without_its_sessions_token_or_with_that_of_another_is_refused(many, database):
    job = create_scored_job(database, [[1], [0]], pending=1)
    otto, other = many.client("otto"), many.client("otto")
    for token in ("", "x", other.token(), "é"):
        answer = otto.post(f"/jobs/{job}/state", data={"token": token, "deed": "pause"})
        assert answer.status_code == 403 and "earlier login" in answer.text
    assert state(database, job) != "paused"
    assert otto.post(f"/jobs/{job}/state", data={"deed": "pause"}, headers={"x-token": otto.token()}).status_code == 303
    assert state(database, job) == "paused"


def test_what_comes_from_elsewhere_is_refused(explorer):
    client = explorer.client()
    for headers in ({"host": "evil.example"}, {"host": "127.0.0.1"}, {"host": ""}):
        assert client.get("/jobs", headers=headers).status_code in (400, 421), headers
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {"origin": explorer.url + "0"}):
        assert client.get("/jobs", headers=headers).status_code == 403, headers
        assert client.post("/login", data={"secret": "x"}, headers=headers).status_code == 403, headers
    del client.headers["origin"]
    assert client.get("/jobs").status_code == 200
    assert client.post("/logout", data={"token": client.token()}).status_code == 403
    assert (
        client.post("/logout", data={"token": client.token()}, headers={"sec-fetch-site": "cross-site"}).status_code
        == 403
    )
    assert (
        client.post("/logout", data={"token": client.token()}, headers={"sec-fetch-site": "same-origin"}).status_code
        == 303
    )
    assert client.get("/jobs").status_code == 303


def test_every_answer_forbids_what_a_page_does_not_need(served):
    client = served.client()
    for path in ("/jobs", "/nowhere", "/login", "/jobs?where=x", "/static/x/y.js", "/favicon.ico"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "*" not in policy, path
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert "server" not in headers
    assert (
        client.get("/jobs", headers={"host": "evil.example"}).headers["content-security-policy"] == "default-src 'none'"
    )
    assert "no-store" in client.get("/jobs").headers["cache-control"]


def test_nothing_secret_is_in_a_page(explorer, database):
    job = create_scored_job(database, [[1]])
    client = explorer.client()
    for path in ("/jobs", f"/jobs/{job}", "/login", "/nowhere"):
        text = client.get(path).text
        assert explorer.site.login_method.token not in text and explorer.site.settings.database not in text
        assert client.cookies[explorer.site.cookie] not in text


def test_the_printed_address_lets_in_and_leads_only_to_own_pages(explorer):
    client = explorer.visitor()
    token = explorer.site.login_method.token
    assert client.get("/login?token=wrong").status_code == 403
    for target, reached in (
        ("/jobs?where=x", "/jobs?where=x"),
        ("//evil.example", "/jobs"),
        ("http://evil.example", "/jobs"),
        ("/\\evil.example", "/jobs"),
        ("javascript:x", "/jobs"),
        ("/a\nb", "/jobs"),
    ):
        answer = client.get("/login", params={"token": token, "next": target})
        assert (answer.status_code, answer.headers["location"]) == (303, reached)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie


def test_a_body_that_is_too_large_is_not_read(served):
    host, port = urlsplit(served.url).netloc.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    connection.request("POST", "/login", body=b"", headers={"Content-Length": str(2**40), "Origin": served.url})
    assert connection.getresponse().status == 413
    connection.close()
    with socket.create_connection((host, int(port)), timeout=60) as sent:
        head = f"POST /login HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {served.url}\r\nTransfer-Encoding: chunked\r\n"
        sent.sendall((head + "Content-Type: application/x-www-form-urlencoded\r\n\r\n").encode())
        with pytest.raises(OSError):  # it is answered, or cut off, before all of it was taken
            for _ in range(40):
                sent.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
            assert sent.recv(4096).startswith((b"HTTP/1.1 413", b"HTTP/1.1 400"))
            raise OSError
    assert served.visitor().get("/login").status_code == 200


# The command


def test_a_person_is_written_by_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    assert main(["web", "add-person", str(tmp_path / "people.txt"), "anna", "--role", "reader"]) == 0
    assert PasswordFile(tmp_path / "people.txt").check("anna", "correct horse").role == Role.READER


def start(*arguments, home, **environment):
    command = [sys.executable, "-m", "lumos_queue.cli.main", "web", "--port", "0", *arguments]
    given = os.environ | {"LUMOS_HOME": str(home), "LUMOS_USER": "me"} | environment
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=given, cwd=ROOT)


def test_the_command_prints_an_address_that_lets_in_and_ends_by_term_with_pages_that_follow_a_job(tmp_path):
    database = open_database(Settings(home=tmp_path).database)
    upgrade(database)
    job = create_scored_job(database, [[1], [0]], pending=1)
    database.close()
    process = start("--as", "eve", home=tmp_path)
    killer = threading.Timer(90, process.kill)
    killer.start()
    try:
        address = next(word for word in process.stderr.readline().split() if word.startswith("http"))
        client = Client(address.partition("/login")[0])
        assert client.get(address).status_code == 303
        assert "eve, operator" in client.get("/jobs").text
        with client.stream("GET", f"/jobs/{job}/live") as answer:
            lines = answer.iter_lines()
            assert "event: live" in lines
            process.terminate()
            assert not any(line == "event: ended" for line in lines)  # the page asks again once there is a server
        client.close()
        assert process.wait(30) == 0 and process.stderr.read().startswith("limits: 1,000 connections")
    finally:
        killer.cancel()
        process.kill()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0"], "give --passwords FILE"),
        (["--passwords", "/nowhere"], "Cannot read the password file '/nowhere'"),
        (["--proxy", "nonsense"], "--proxy: 'nonsense' does not appear to be an IPv4 or IPv6 network"),
        (["--certificate", "/nowhere"], "Give both --certificate and --key"),
        (["--host", "no.such.host.invalid"], "Cannot serve on no.such.host.invalid"),
    ],
)
def test_what_cannot_be_served_is_one_line(tmp_path, arguments, told, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    code = main(["web", "--port", "0", *arguments])
    err = capsys.readouterr().err
    assert code == 2 and told in err and len(err.strip().splitlines()) == 1, err


@pytest.mark.parametrize("arguments", [[], ["--proxy", "127.0.0.1"]])
def test_passwords_in_clear_for_other_machines_are_refused_in_one_line(tmp_path, arguments, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    add_person(tmp_path / "people.txt", "anna", "annotator", "correct horse")
    options = ["--host", "0.0.0.0", "--port", "0", "--passwords", str(tmp_path / "people.txt"), *arguments]
    code = main(["web", *options])
    err = capsys.readouterr().err
    assert code == 2 and "Passwords would travel unencrypted" in err and len(err.strip().splitlines()) == 1, err
