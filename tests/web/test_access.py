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
from argon2 import PasswordHasher

from db.connection import open_database
from db.migrate import upgrade
from db.web_actions import list_actions
from lumos_queue.cli.main import main
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.web.access import passwords
from lumos_queue.web.access.login_limits import MAX_FAILURES, WINDOW_SECONDS, LoginAttempts
from lumos_queue.web.access.login_methods import PasswordLogin
from lumos_queue.web.access.passwords import PasswordFile, add_person
from lumos_queue.web.access.sessions import IDLE_SECONDS, MAX_SECONDS, Sessions
from lumos_queue.web.access.users import Role
from lumos_queue.web.app import ROUTERS
from lumos_queue.web.request_context import role_of_route
from tests.conftest import ROOT
from tests.explorers import Client, call_explorer
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
    job = create_scored_job(database, [[1], [0]], owed=1)
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


# Passwords


@pytest.fixture
def people(tmp_path, monkeypatch):
    """A file of one person, whose password is hashed with little memory: a check takes 0.1 s otherwise."""
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    file = tmp_path / "people.txt"
    add_person(file, "anna", "annotator", "correct horse")
    return file


def test_a_role_that_was_taken_away_is_gone_at_the_next_request(database, people):
    with call_explorer(database, PasswordLogin(PasswordFile(people))) as explorer:
        client = explorer.visitor()
        assert client.post("/login", data={"name": "anna", "secret": "wrong horse"}).status_code == 403
        assert client.post("/login", data={"name": "bob", "secret": "correct horse"}).status_code == 403
        assert client.post("/login", data={"name": "anna", "secret": "correct horse"}).status_code == 303
        assert "anna, annotator" in client.get("/jobs").text
        add_person(people, "anna", "reader", "correct horse")
        assert "anna, reader" in client.get("/jobs").text
        people.write_text("")
        people.chmod(0o600)
        assert client.get("/jobs").status_code == 303
        add_person(people, "anna", "reader", "correct horse")
        people.unlink()
        assert client.get("/jobs").status_code == 400, "nobody knows who is let in"


def test_a_login_that_fails_too_often_has_to_wait(database, people):
    with call_explorer(database, PasswordLogin(PasswordFile(people))) as explorer:
        client = explorer.visitor()
        for _ in range(MAX_FAILURES):
            assert client.post("/login", data={"name": "anna", "secret": "x" * 9}).status_code == 403
        answer = client.post("/login", data={"name": "anna", "secret": "correct horse"})
        assert answer.status_code == 429 and 0 < int(answer.headers["retry-after"]) <= WINDOW_SECONDS


def test_attempts_are_counted_by_name_and_by_address_and_forgotten_in_time():
    now = [0.0]
    attempts = LoginAttempts(lambda: now[0])
    for _ in range(MAX_FAILURES):
        attempts.note_failure("name a", "address 1")
        now[0] += 1
    assert attempts.seconds_to_wait("name b", "address 1") > 0 and attempts.seconds_to_wait("name a", "address 2") > 0
    assert attempts.seconds_to_wait("name b", "address 2") == 0
    attempts.forget("name a")
    assert attempts.seconds_to_wait("name a", "address 2") == 0
    now[0] += WINDOW_SECONDS
    assert attempts.seconds_to_wait("address 1") == 0


def test_sessions_end_when_they_are_not_used_and_when_they_are_old():
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    name = sessions.begin("anna")
    assert sessions.find(name).person == "anna" and sessions.find("other") is None and sessions.find("") is None
    now[0] += IDLE_SECONDS + 1
    assert sessions.find(name) is None
    name = sessions.begin("anna")
    for _ in range(int(MAX_SECONDS / IDLE_SECONDS) + 1):
        now[0] += IDLE_SECONDS - 1
        sessions.find(name)
    assert sessions.find(name) is None
    name = sessions.begin("anna")
    sessions.end(name)
    assert sessions.find(name) is None


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("anna annotator $argon2id$x\n", 0o644, "chmod 600"),
        ("anna annotator\n", 0o600, "line 1: expected NAME ROLE HASH"),
        ("# people\nanna king $argon2id$x\n", 0o600, "line 2: No role called 'king'"),
        ("anna reader $argon2id$x\nanna operator $argon2id$x\n", 0o600, "line 2: the name 'anna' occurs twice"),
        ("anna reader plain-text\n", 0o600, "line 1: expected NAME ROLE HASH"),
    ],
)
def test_a_password_file_that_is_wrong_is_told_of(tmp_path, text, mode, told):
    file = tmp_path / "people.txt"
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(SpecError, match=told):
        PasswordFile(file)


@pytest.mark.parametrize(
    ("name", "role", "password", "told"),
    [
        ("", "reader", "12345678", "is not a name"),
        ("a b", "reader", "12345678", "is not a name"),
        ("#a", "reader", "12345678", "a comment"),
        ("a\u202eb", "reader", "12345678", "is not a name"),
        ("a", "king", "12345678", "No role called 'king'"),
        ("a", "reader", "1234567", "has 7 characters"),
    ],
)
def test_a_person_that_cannot_be_written_is_told_of(tmp_path, name, role, password, told):
    with pytest.raises(SpecError, match=told):
        add_person(tmp_path / "people.txt", name, role, password)
    assert not (tmp_path / "people.txt").exists()


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
    job = create_scored_job(database, [[1], [0]], owed=1)
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
        assert process.wait(30) == 0 and process.stderr.read() == ""
    finally:
        killer.cancel()
        process.kill()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--host", "0.0.0.0"], "give --passwords FILE"),
        (["--passwords", "/nowhere"], "Cannot read the password file '/nowhere'"),
        (["--certificate", "/nowhere"], "Give both --certificate and --key"),
        (["--host", "no.such.host.invalid"], "Cannot serve on no.such.host.invalid"),
    ],
)
def test_what_cannot_be_served_is_one_line(tmp_path, arguments, told, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    code = main(["web", "--port", "0", *arguments])
    err = capsys.readouterr().err
    assert code == 2 and told in err and len(err.strip().splitlines()) == 1, err
