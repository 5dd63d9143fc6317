"""Logins and live pages of `lumos web`, direct and through the reverse proxies of docs/explorer.md, as processes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest
from argon2 import PasswordHasher

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from lumos_queue.util.connection_limits import Limits
from lumos_queue.web.access import passwords
from lumos_queue.web.access.login_limits import MAX_FAILURES
from lumos_queue.web.access.passwords import add_person
from tests.explorers import Client
from tests.reverse_proxies import Entrance, open_entrance
from tests.scored_jobs import create_scored_job
from tests.services import wait_until

PASSWORD = "correct horse"
DIRECT_WAYS, PROXY_WAYS = ("in clear", "TLS"), ("nginx", "caddy", "caddy, nginx", "nginx, caddy")


@pytest.fixture(scope="module")
def database(tmp_path_factory) -> Iterator[Database]:
    job_database = open_database(f"sqlite:///{tmp_path_factory.mktemp('proxies') / 'lumos.db'}")
    upgrade(job_database)
    yield job_database
    job_database.close()


@pytest.fixture(scope="module", params=[*DIRECT_WAYS, *PROXY_WAYS])
def entrance(request, database, tmp_path_factory) -> Iterator[Entrance]:
    home = tmp_path_factory.mktemp("home")
    people = home / "people.txt"
    with pytest.MonkeyPatch.context() as patch:  # a check of these hashes takes little time
        patch.setattr(passwords, "_HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        for name in ("anna", "otto"):
            add_person(people, name, "operator", PASSWORD)
    with open_entrance(request.param, database, home, people) as way:
        yield way


def log_in(client: Client, name: str, secret: str = PASSWORD, headers: list[tuple[str, str]] | None = None) -> int:
    """Return the status of the answer. `headers`: further ones."""
    return client.post("/login", data={"name": name, "secret": secret}, headers=headers).status_code


def test_the_cookie_of_a_login_is_secure_if_the_client_uses_tls(entrance):
    is_secure = entrance.authority is not None
    with entrance.connect("127.0.0.11") as client:
        del client.headers["origin"]  # which states the scheme, too
        headers = {"sec-fetch-site": "same-origin", "x-forwarded-proto": "http" if is_secure else "https"}
        answer = client.post("/login", data={"name": "anna", "secret": PASSWORD}, headers=headers)
        assert answer.status_code == 303
        assert ("secure" in re.split(r"; *", answer.headers["set-cookie"].lower())) is is_secure
        page = client.get("/jobs")
        assert "anna, operator" in page.text
        assert f"style-src {entrance.url}/static/;" in page.headers["content-security-policy"]


@pytest.mark.parametrize("kind", ["as one", "as a list", "in two headers"])
def test_a_client_cannot_state_another_address_to_log_in_more_often(entrance, kind):
    number = {"as one": 20, "as a list": 30, "in two headers": 40}[kind]
    own, other = f"127.0.0.{number}", f"127.0.0.{number + 1}"

    def forge(address: str) -> list[tuple[str, str]]:
        texts = {
            "as one": [address],
            "as a list": [f"{address}, 127.0.0.1, {address}"],
            "in two headers": ["127.0.0.1", address],
        }[kind]
        return [*(("x-forwarded-for", text) for text in texts), ("x-real-ip", address), ("forwarded", f"for={address}")]

    with entrance.connect(own) as client, entrance.connect(other) as other_client:
        for attempt in range(MAX_FAILURES):
            assert log_in(client, "anna", "wrong horse", forge(f"203.0.113.{attempt}")) == 403
        assert log_in(client, "anna", PASSWORD, forge("203.0.113.200")) == 429
        assert log_in(client, "anna", PASSWORD, forge(other)) == 429
        assert log_in(other_client, "anna") == 303


def test_a_client_cannot_lock_out_the_address_that_it_states(entrance):
    with entrance.connect("127.0.0.50") as client, entrance.connect("127.0.0.51") as other_client:
        for _ in range(MAX_FAILURES):
            assert log_in(client, "anna", "wrong horse", [("x-forwarded-for", "127.0.0.51")]) == 403
        assert log_in(other_client, "anna") == 303
        assert log_in(client, "anna") == 429
        assert log_in(client, "otto") == 303


def test_events_of_a_live_page_arrive_while_it_is_open(entrance, database):
    job = create_scored_job(database, [[1], [0]], pending=1)
    with entrance.connect("127.0.0.60") as client:
        assert log_in(client, "otto") == 303
        with client.stream("GET", f"/jobs/{job}/live") as answer:
            lines = answer.iter_lines()
            assert "event: live" in lines
            assert client.submit(f"/jobs/{job}/state", {"deed": "pause"}).status_code == 303
            assert any("paused" in line for line in lines)


def test_a_file_of_labels_reaches_the_explorer_up_to_its_limit(entrance):
    with entrance.connect("127.0.0.70") as client:
        assert log_in(client, "otto") == 303
        limit = Limits().upload_bytes
        for size, text in ((limit - 2**12, "store it with lumos audit label --from"), (limit + 2**12, "")):
            answer = client.submit("/annotate/first/labels", files={"file": ("labels.jsonl", b"x" * size)})
            assert (answer.status_code, text in answer.text) == (400 if text else 413, True)


def test_a_body_without_a_login_is_refused(entrance):
    with entrance.connect("127.0.0.80") as client:
        answer = client.post("/login", data={"name": "anna", "secret": "x" * 2 * Limits().request_bytes})
        if answer.status_code != 502:  # a proxy that still sends may see the end of the connection before the answer
            assert answer.status_code == 413 and ("too large" in answer.text or "at most" in answer.text)


def test_a_body_reaches_the_explorer_in_parts_and_ends_when_the_client_leaves(entrance):
    class Leave(Exception):
        pass

    def send_part() -> Iterator[bytes]:
        yield b'--part\r\nContent-Disposition: form-data; name="file"; filename="labels.jsonl"\r\n\r\nx'
        wait_until(entrance.count_connections, "the explorer receives a part of the body")
        raise Leave

    with entrance.connect("127.0.0.81") as client:
        client.headers["connection"] = "close"
        assert log_in(client, "otto") == 303
        wait_until(lambda: entrance.count_connections() == 0, "the login has ended")
        with pytest.raises(Leave):
            headers = {"content-type": "multipart/form-data; boundary=part"}
            client.post("/annotate/first/labels", content=send_part(), headers=headers)
        wait_until(lambda: entrance.count_connections() == 0, "the upload has ended")


def test_a_live_page_ends_in_the_explorer_when_the_client_leaves(entrance, database):
    job = create_scored_job(database, [[1], [0]], pending=1)
    with entrance.connect("127.0.0.100") as client:
        assert log_in(client, "otto") == 303
        with client.stream("GET", f"/jobs/{job}/live") as answer:
            lines = answer.iter_lines()  # a generator that is dropped would close the page
            assert "event: live" in lines
            assert entrance.count_connections() > 0
    wait_until(lambda: entrance.count_connections() == 0, "the live page has ended")


def test_other_hosts_are_not_served(entrance):
    with entrance.connect("127.0.0.90") as client:
        answer = client.get("/login", headers={"host": "lumos.example.com"})
        assert answer.status_code == 421 or not answer.content


@pytest.mark.parametrize("entrance", PROXY_WAYS, indirect=True)
def test_http_is_redirected_to_https(entrance):
    answer = httpx2.get(f"{entrance.clear_url}/jobs?where=x", trust_env=False)
    assert answer.status_code in (301, 308)
    assert answer.headers["location"].startswith("https://localhost") and answer.headers["location"].endswith(
        "?where=x"
    )
