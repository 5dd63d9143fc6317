"""Fields of the data in the explorer: the choice of a field, and filters by fields."""

from __future__ import annotations

import re

import pytest

from tests.field_jobs import job_by_topic, tasks_with
from tests.page_parts import HOSTILE
from tests.scored_jobs import create_scored_job

HTMX = {"hx-request": "true"}


@pytest.fixture
def jobs(database) -> tuple[str, str]:
    topics = ["algebra"] * 4 + ["sets"] * 2
    return job_by_topic(database, topics, [0] * 6), job_by_topic(database, topics, [1] * 6, endpoint="tgi://two:1")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_job_offers_its_fields_and_shows_scores_by_one(explorer, jobs):
    client, (job, _) = explorer.client(), jobs
    part = client.get(f"/jobs/{job}/report", headers=HTMX).text
    assert '<option value="topic">topic</option>' in part and " by topic: " not in part
    page = client.get(f"/jobs/{job}", params={"by": "topic"}).text
    (path,) = re.findall(rf'hx-get="(/jobs/{job}/report[^"]*)"', page)
    part = client.get(path, headers=HTMX).text
    assert '<option value="topic" selected>' in part and " by topic: accuracy" in part and "n = 4" in part
    assert " by topic: accuracy" in client.get(f"/jobs/{job}/report?by=topic").text
    refused = client.get(f"/jobs/{job}/report?by=topik")
    assert refused.status_code == 400 and "Did you mean &#39;topic&#39;?" in refused.text
    assert "Did you mean" in client.get(f"/jobs/{job}/report?by=topik", headers=HTMX).text


def test_a_comparison_offers_fields_and_keeps_what_else_was_asked(explorer, jobs):
    client, named = explorer.client(), ",".join(jobs)
    page = client.get("/compare", params={"jobs": named, "by": "topic", "common": "true"}).text
    assert '<option value="topic" selected>' in page and '<input type="hidden" name="common" value="true">' in page
    (path,) = re.findall(r'hx-get="(/compare/figures[^"]*)"', page)
    part = client.get(path.replace("&amp;", "&"), headers=HTMX).text
    assert " by topic, in points of accuracy" in part and "p, Holm" in part
    assert "Did you mean" in client.get("/compare/figures", params={"jobs": named, "by": "topik"}, headers=HTMX).text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_the_filter_box_knows_fields(explorer, jobs):
    client, (job, other) = explorer.client(), jobs
    rows = client.get("/episodes/rows", params={"job": job, "where": "meta.topic=sets"}, headers=HTMX).text
    assert sorted(set(re.findall(rf"{job}-\d", rows))) == [f"{job}-4", f"{job}-5"] and other not in rows
    wrong = client.get(f"/jobs/{job}/episodes", params={"where": "meta.topik=sets"})
    assert wrong.status_code == 400 and "Choose one of: topic." in wrong.text


def test_hostile_names_and_values_are_text(explorer, database):
    job = create_scored_job(database, [[1]] * len(HOSTILE), tasks_with([{text: text} for text in HOSTILE]))
    client = explorer.client()
    for text in HOSTILE:
        answer = client.get(f"/jobs/{job}/report", params={"by": text})
        assert answer.status_code == 200
        assert "<script>window" not in answer.text and "<img src=x" not in answer.text and "\x1b" not in answer.text
    many = create_scored_job(database, [[1]], tasks_with([{f"column {number}": 1 for number in range(900)}], "wide"))
    part = client.get(f"/jobs/{many}/report", headers=HTMX).text
    assert part.count("<option") == 201 and "and 700 more" in part
