"""The list of jobs, one job, and what an operator does with it."""

from __future__ import annotations

import re

import pytest

from db.queries.web_actions import list_actions
from tests.claims import claim, fail, holder
from tests.scored_jobs import create_scored_job
from tests.stored_rows import state

HOSTILE = "<script>document.title='run'</script>\u202e \x1b[31m"


@pytest.fixture
def job(database) -> str:
    return create_scored_job(database, [[1], [0], [None], [1]], name=HOSTILE, tags={"team": "maths"})


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_the_list_shows_every_job_and_what_a_filter_chooses(explorer, database, job):
    other = create_scored_job(database, [[1]], digest="cd" * 32)
    client = explorer.client()
    text = client.get("/jobs").text
    assert f"/jobs/{job}" in text and f"/jobs/{other}" in text
    assert "<script>document" not in text and "\u202e" not in text and "\x1b" not in text
    chosen = client.get("/jobs", params={"where": "tag.team=maths"}).text
    assert f"/jobs/{job}" in chosen and f"/jobs/{other}" not in chosen
    for wrong in ("nonsense", "state=flying", "name~'", "benchmark=wordmth", "\0"):
        answer = client.get("/jobs", params={"where": wrong})
        assert answer.status_code == 400 and 'role="alert"' in answer.text


def test_a_job_is_found_by_the_beginning_of_its_id_and_none_by_another(explorer, job):
    client = explorer.client()
    answer = client.get(f"/jobs/{job[:5]}")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{job}")
    for wrong in ("zzzzzzzz", "%00", "%2e%2e", "a%27b", "x" * 5000):
        assert client.get(f"/jobs/{wrong}").status_code == 404, wrong


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_an_operator_pauses_goes_on_and_cancels_and_it_is_noted(explorer, database):
    job = create_scored_job(database, [[1], [0]], pending=1)
    client = explorer.client()
    for deed, left in (("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")):
        answer = client.submit(f"/jobs/{job}/state", {"deed": deed})
        assert answer.status_code == 303, answer.text
        assert state(database, job) == left
    assert "The job is cancelled." in client.get(f"/jobs/{job}").text
    with database.engine.connect() as connection:
        noted = [(row.person, row.action, row.target) for row in list_actions(connection, 10)]
    assert noted == [("ann@here", deed, job) for deed in ("cancel", "resume", "pause")]
    assert client.submit(f"/jobs/{job}/state", {"deed": "explode"}).status_code == 400
    assert client.submit("/jobs/zzzzzzzz/state", {"deed": "pause"}).status_code == 404


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_class_of_failures_is_owed_again(explorer, database, job):
    client = explorer.client()
    failures = client.get(f"/jobs/{job}/failures").text
    assert "Run these again" in failures
    answer = client.submit(f"/jobs/{job}/requeue", {"failed": "image"})
    assert answer.status_code == 400 and "No item of job" in answer.text
    kind = re.findall(r'name="failed" value="(\w+)"', failures)[0]
    assert client.submit(f"/jobs/{job}/requeue", {"failed": kind}).status_code == 303
    assert state(database, job) == "queued"


def test_the_report_is_a_part_of_the_page_and_a_page_of_its_own(explorer, job):
    client = explorer.client()
    whole, part = client.get(f"/jobs/{job}/report"), client.get(f"/jobs/{job}/report", headers={"hx-request": "true"})
    assert "<html" in whole.text and "<html" not in part.text
    assert "<svg" in part.text and "Instructive failures" in part.text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_the_list_and_the_page_of_a_job_say_why_its_items_fail(explorer, database):
    job = create_scored_job(database, [[1], [0], [1]], pending=2)
    who = holder(database, job)
    fail(database, who, claim(database, who, 2), f"the quota is used up {HOSTILE}")
    client = explorer.client()
    for path in ("/jobs", f"/jobs/{job}"):
        text = client.get(path).text
        assert "2 items failed and are tried again: the quota is used up &lt;script&gt;" in text, path
        assert "<script>document" not in text and not {"\u202e", "\x1b"} & set(text)
