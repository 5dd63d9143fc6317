"""Passwords, failed logins, known browsers, cookies and sessions."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from argon2 import PasswordHasher
from fastapi import Request

from lumos_queue.errors import SpecError
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
from lumos_queue.web.access.users import Person
from lumos_queue.web.errors import Busy
from lumos_queue.web.routes.login import needs_secure_cookie
from tests.explorers import call_explorer, serve_explorer

OPEN_TO_ALL = {"/", "/login", "/favicon.ico", "/static/{digest}/{name}"}


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


@pytest.mark.parametrize("error", [Busy("try again", 5), SpecError("the password file is unreadable")])
def test_a_login_that_was_not_checked_does_not_count(explorer, monkeypatch, error):
    async def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(PasswordChecks, "admit", refuse)
        statuses = {explorer.visitor().get("/login?token=x").status_code for _ in range(MAX_FAILURES_OF_ADDRESS + 1)}
    assert statuses <= {400, 503}
    assert explorer.visitor().get(explorer.login_url).status_code == 303


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
        try:
            with pytest.raises(Busy):
                await asyncio.wait_for(checks.admit(SlowLogin(), "otto", "x"), 10)
        finally:
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
        ("lumos.example.org", "https://lumos.example.org", True, True),  # the request came through a proxy with TLS
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
