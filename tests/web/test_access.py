"""Who may come in, from where, and what each role may ask for."""

from __future__ import annotations

import asyncio
import http.client
import io
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from argon2 import PasswordHasher
from fastapi import Request

from db.connection import open_database
from db.migrate import upgrade
from db.web_actions import list_actions
from lumos_queue.cli.main import main
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.web.access import passwords
from lumos_queue.web.access.client_address import Client as Sender
from lumos_queue.web.access.client_address import Proxies
from lumos_queue.web.access.login_limits import (
    MAX_FAILURES,
    MAX_FAILURES_OF_ADDRESS,
    WINDOW_SECONDS,
    KnownBrowsers,
    LoginAttempts,
    TooManyFailures,
)
from lumos_queue.web.access.login_methods import PasswordLogin
from lumos_queue.web.access.password_checks import MAX_WAITING, PasswordChecks
from lumos_queue.web.access.passwords import PasswordFile, add_person
from lumos_queue.web.access.sessions import IDLE_SECONDS, MAX_OF_PERSON, MAX_SECONDS, Sessions
from lumos_queue.web.access.users import Person, Role
from lumos_queue.web.app import ROUTERS
from lumos_queue.web.errors import Busy
from lumos_queue.web.request_context import role_of_route
from lumos_queue.web.routes.login import needs_secure_cookie
from tests.conftest import ROOT
from tests.explorers import Client, call_explorer, serve_explorer
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


def test_failures_are_counted_by_name_and_address_and_forgotten_in_time():
    now = [0.0]
    attempts = LoginAttempts(lambda: now[0])
    for _ in range(MAX_FAILURES):
        attempts.begin("anna", "address 1")
        now[0] += 1
    with pytest.raises(TooManyFailures) as refusal:
        attempts.begin("anna", "address 1")
    assert refusal.value.seconds == WINDOW_SECONDS - MAX_FAILURES
    for name, address in (("anna", "address 2"), ("otto", "address 1")):  # nobody else is locked out
        attempts.succeed(attempts.begin(name, address))
    attempts.begin("anna", "address 1", browser="anna's")
    now[0] += WINDOW_SECONDS
    attempts.begin("anna", "address 1")


def test_an_address_has_a_limit_for_all_names_together_and_a_success_does_not_count():
    attempts = LoginAttempts(lambda: 0.0)
    for number in range(MAX_FAILURES_OF_ADDRESS):
        attempts.begin(f"nobody {number}", "address 1")
        if number < MAX_FAILURES_OF_ADDRESS - 1:
            attempts.succeed(attempts.begin("anna", "address 1"))
    with pytest.raises(TooManyFailures):
        attempts.begin("anna", "address 1")
    attempts.begin("anna", "address 1", browser="anna's")


def test_a_known_browser_has_its_own_count():
    attempts = LoginAttempts(lambda: 0.0)
    for _ in range(MAX_FAILURES):
        attempts.begin("anna", "address 1", browser="anna's")
    with pytest.raises(TooManyFailures):
        attempts.begin("anna", "address 2", browser="anna's")
    attempts.begin("anna", "address 1")


def test_the_cookie_of_a_browser_is_of_one_name():
    browsers = KnownBrowsers()
    cookie = browsers.make_cookie("anna")
    assert browsers.find(cookie, "anna") == cookie.partition(".")[0]
    for wrong, name in ((cookie, "otto"), (cookie[:-1], "anna"), ("", "anna"), ("x" + cookie, "anna"), ("é.é", "anna")):
        assert browsers.find(wrong, name) == ""
    assert KnownBrowsers().find(cookie, "anna") == ""


def test_failures_elsewhere_do_not_lock_out_a_browser_that_has_logged_in(database, people):
    with call_explorer(database, PasswordLogin(PasswordFile(people))) as explorer:
        right, wrong = {"name": "anna", "secret": "correct horse"}, {"name": "anna", "secret": "x" * 9}
        own, foreign = explorer.visitor(), explorer.visitor()
        assert own.post("/login", data=right).status_code == 303
        for _ in range(MAX_FAILURES):
            foreign.post("/login", data=wrong)
        assert foreign.post("/login", data=right).status_code == 429
        assert own.submit("/logout").status_code == 303 and own.get("/jobs").headers["location"].startswith("/login")
        answer = own.post("/login", data=right)
        assert answer.status_code == 303 and len(answer.headers.get_list("set-cookie")) == 1


def test_many_guesses_at_once_are_no_more_than_the_limit(database, people):
    with serve_explorer(database, PasswordLogin(PasswordFile(people))) as explorer:

        def guess(number: int) -> int:
            client = explorer.visitor()
            return client.post("/login", data={"name": "anna", "secret": f"guess number {number}"}).status_code

        with ThreadPoolExecutor(20) as threads:
            statuses = list(threads.map(guess, range(40)))
    assert statuses.count(403) == MAX_FAILURES and set(statuses) <= {403, 429, 503}


def test_a_client_behind_a_proxy_locks_out_no_other_client(database, people):
    proxies = Proxies(["127.0.0.1"])
    with serve_explorer(database, PasswordLogin(PasswordFile(people)), state={"proxies": proxies}) as explorer:
        client = explorer.visitor()
        for number in range(MAX_FAILURES_OF_ADDRESS + 1):
            data = {"name": f"nobody{number}", "secret": "x" * 9}
            headers = {"x-forwarded-for": f"9.9.9.{number}, 203.0.113.9"}  # its left part is the client's own text
            answer = client.post("/login", data=data, headers=headers)
        assert answer.status_code == 429
        headers = {"x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https"}
        answer = client.post("/login", data={"name": "anna", "secret": "correct horse"}, headers=headers)
        assert answer.status_code == 303 and "secure" in answer.headers["set-cookie"].lower()


def test_more_logins_than_places_are_answered_503():
    checks, go = PasswordChecks(), threading.Event()

    class SlowLogin:
        asks_password = True

        def admit(self, name: str, secret: str) -> Person | None:
            go.wait(60)
            return None

        find = admit

    async def check() -> None:
        waiting = [asyncio.create_task(checks.admit(SlowLogin(), "anna", "x")) for _ in range(MAX_WAITING + 1)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await checks.admit(SlowLogin(), "otto", "x")
        go.set()
        assert await asyncio.gather(*waiting) == [None] * (MAX_WAITING + 1)
        assert await checks.admit(SlowLogin(), "otto", "x") is None

    asyncio.run(check())
    checks.stop()


def test_a_new_password_ends_sessions_and_a_new_role_does_not(database, people):
    with call_explorer(database, PasswordLogin(PasswordFile(people))) as explorer:
        client = explorer.visitor()
        assert client.post("/login", data={"name": "anna", "secret": "correct horse"}).status_code == 303
        add_person(people, "anna", "operator", "correct horse")
        assert "anna, operator" in client.get("/jobs").text
        add_person(people, "anna", "operator", "another horse")
        assert client.get("/jobs").status_code == 303


def test_sessions_of_one_person_end_no_session_of_another_person():
    sessions = Sessions()
    first, own = sessions.begin("otto"), sessions.begin("anna")
    for _ in range(MAX_OF_PERSON):
        sessions.begin("otto")
    assert sessions.find(own) and not sessions.find(first)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "image"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "document"}, 403),  # a script of the other site
        ({"sec-fetch-site": "cross-site", "sec-fetch-dest": "document", "sec-fetch-user": "?1"}, 303),  # a clicked link
        ({"sec-fetch-site": "none", "sec-fetch-dest": "document"}, 303),
        ({}, 303),
    ],
)
def test_pages_of_other_sites_do_not_lock_out_the_printed_address(explorer, headers, status):
    for number in range(MAX_FAILURES_OF_ADDRESS + 1):
        answer = explorer.visitor().get(f"/login?token=wrong{number}", headers={"sec-fetch-site": "cross-site"})
        assert answer.status_code == 403
    assert explorer.visitor().get(explorer.login_url, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("host", "origin", "insecure", "is_secure"),
    [
        ("127.0.0.1:8642", "http://127.0.0.1:8642", False, False),
        ("localhost:8642", "http://localhost:8642", False, False),
        ("lumos.example.org", "https://lumos.example.org", False, True),
        ("lumos.example.org", "http://lumos.example.org", False, True),
        ("lumos.example.org", "http://lumos.example.org", True, False),
    ],
)
def test_cookies_are_secure_unless_served_in_clear_on_loopback(database, host, origin, insecure, is_secure):
    with call_explorer(database) as explorer:
        headers = [(b"host", host.encode()), (b"origin", origin.encode())]
        scope = {"type": "http", "method": "POST", "path": "/login", "query_string": b"", "scheme": "http"}
        request = Request(scope | {"headers": headers, "server": ("127.0.0.1", 8642), "client": ("127.0.0.1", 5)})
        site = replace(explorer.site, insecure=insecure)
        assert needs_secure_cookie(request, site, Sender("127.0.0.1", False)) is is_secure


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
        assert process.wait(30) == 0 and process.stderr.read().startswith("limits: 1,000 connections")
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
