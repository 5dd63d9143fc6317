"""Workers, endpoints with their caps, and what people did."""

from __future__ import annotations

import os
import re
import sys

import pytest
from sqlalchemy import insert, update

from db.kinds.pools import Gpus
from db.models import Heartbeat, JobRow, RefusedMessage
from db.queries.web_actions import list_actions
from db.queue.fence import start_session
from db.queue.shares import list_caps, set_cap
from db.queue.web_actions import note_action
from lumos_queue.web.routes.actions import PAGE
from lumos_queue.web.routes.workers import MAX_JOBS
from tests.claims import claim, holder
from tests.scored_jobs import create_scored_job

URL = "tgi://one:1"
HOSTILE = "<script>document.title='run'</script>\u202e"


@pytest.fixture
def job(database) -> str:
    """Open, with one item that nobody has claimed."""
    return create_scored_job(database, [[1], [0]], pending=1)


def caps(database) -> dict[str, int]:
    with database.engine.connect() as connection:
        return {cap.url: cap.requests for cap in list_caps(connection)}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_workers_are_shown_with_what_they_hold_and_whether_they_are_silent(explorer, database, job):
    client = explorer.client()
    claim(database, holder(database, job))
    idle = start_session(database, "<b>code</b>")
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == idle).values(at=Heartbeat.at - 8))
        row = {"reason": "not ours", "messages": 7, "latest": HOSTILE, "latest_at": 0.0}
        connection.execute(insert(RefusedMessage).values(**row))
    start_session(database, "1", ("gpu",), Gpus(2, 81_559))
    text = client.get("/workers").text
    assert f'href="/jobs/{job}"' in text and text.count(">silent<") == 1
    assert ">cpu, llm, gpu</td>" in text and ">gpu</td>" in text and ">2, at least 85.5 GB each</td>" in text
    assert "&lt;b&gt;code" in text and "<script>document" not in text and "\u202e" not in text
    part = client.get("/workers", headers={"hx-request": "true"}).text
    assert "<html" not in part and f'href="/jobs/{job}"' in part


def test_without_workers_the_page_says_how_to_start_one(explorer, database):
    assert "No worker is alive. Start one with: lumos worker" in explorer.client().get("/workers").text


def test_a_worker_that_holds_many_jobs_names_some(explorer, database):
    jobs = [
        create_scored_job(database, [[1], [0]], pending=1, digest=f"{number:064x}") for number in range(MAX_JOBS + 2)
    ]
    who = holder(database, jobs[0])
    for one in jobs:
        mine = holder(database, one)
        claim(database, type(who)(who.session, who.code_version, mine.job))
    text = explorer.client().get("/workers").text
    assert "and 2 more" in text and sum(f'href="/jobs/{one}"' in text for one in jobs) == MAX_JOBS


def test_endpoints_of_open_jobs_are_shown_and_what_jobs_wait_for(explorer, database, job):
    with database.writer.begin() as connection:
        waits = {"waiting": f"{URL} does not answer {HOSTILE}", "not_before_at": JobRow.created_at + 10_000}
        connection.execute(update(JobRow).where(JobRow.id == job).values(**waits))
    ended = create_scored_job(database, [[1]], digest="cd" * 32, endpoint="tgi://ended:1")
    text = explorer.client().get("/endpoints").text
    assert URL in text and "tgi://ended:1" not in text and ended not in text
    assert "does not answer" in text and "tried again in 2.8 h" in text and "<script>document" not in text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_an_operator_sets_and_removes_a_cap_and_it_is_noted(many, database, job):
    client = many.client("otto")
    assert client.submit("/endpoints/cap", {"url": URL, "cap": "3"}).status_code == 303
    assert caps(database) == {URL: 3}
    told = client.get("/endpoints").text
    assert f"{URL} has a cap of 3 requests now." in told and "Remove" in told
    for wrong in ("-1", "three", "٣", "1.5", "9" * 30):
        answer = client.submit("/endpoints/cap", {"url": URL, "cap": wrong})
        assert answer.status_code == 400 and "is not a cap" in answer.text, wrong
    answer = client.submit("/endpoints/cap", {"url": "nowhere", "cap": "3"})
    assert answer.status_code == 400 and "SCHEME:ADDRESS" in answer.text
    assert client.submit("/endpoints/cap", {"url": URL, "cap": "0"}).status_code == 303
    assert caps(database) == {}
    with database.engine.connect() as connection:
        noted = [(one.person, one.action, one.target, one.detail) for one in list_actions(connection, 9)]
    assert noted == [("otto", "cap", URL, "removed"), ("otto", "cap", URL, "3 requests")]


@pytest.mark.parametrize("scheme", ["scripted", "local"])
def test_only_a_server_gets_a_cap_and_no_file_is_opened(many, database, job, scheme, tmp_path):
    """A password of the explorer gives no access to the machine: no file is read, and a pipe holds no thread."""
    (tmp_path / "secret.json").write_text('{"aws_key": 1}')
    os.mkfifo(tmp_path / "pipe")
    client = many.client("otto")
    for name in ("secret.json", "pipe", "none", ""):
        answer = client.submit("/endpoints/cap", {"url": f"{scheme}:{tmp_path / name}", "cap": "3"})
        assert answer.status_code == 400 and "is not the address of a server" in answer.text
        assert "aws_key" not in answer.text and caps(database) == {}
    assert client.submit("/endpoints/cap", {"url": "function:tabnanny:check", "cap": "3"}).status_code == 400
    assert "tabnanny" not in sys.modules, "no function is imported either"


def test_a_cap_of_an_endpoint_without_a_server_can_be_removed(many, database, job):
    set_cap(database, "scripted:replies.json", 3)
    assert many.client("otto").submit("/endpoints/cap", {"url": "scripted:replies.json", "cap": "0"}).status_code == 303
    assert caps(database) == {}


def test_a_reader_sets_no_cap_and_sees_no_form_for_it(many, database, job):
    client = many.client("rita")
    assert client.submit("/endpoints/cap", {"url": URL, "cap": "3"}).status_code == 403
    assert caps(database) == {} and "/endpoints/cap" not in client.get("/endpoints").text


def test_actions_are_for_operators_and_lead_to_what_was_changed(many, database, job):
    with database.writer.begin() as connection:
        for number in range(PAGE + 3):
            note_action(connection, "anna", "label", f"{job}-{number}", HOSTILE)
        note_action(connection, "otto", "pause", job)
    client = many.client("otto")
    first = client.get("/actions").text
    assert f'href="/jobs/{job}"' in first and f'href="/episodes/{job}-{PAGE + 2}"' in first
    assert first.count("<tr data-row>") == PAGE and "<script>document" not in first
    (older,) = re.findall(r'href="(/actions\?before=\d+)"', first)
    second = client.get(older).text
    assert second.count("<tr data-row>") == 4 and "Earlier" not in second
    assert client.get("/actions?before=99999999999999999999").status_code == 200
    assert client.get("/actions?before=x").status_code == 400
    for name in ("rita", "anna"):
        assert many.client(name).get("/actions").status_code == 403
