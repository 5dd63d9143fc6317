"""Lists of episodes in the explorer: filters, pages, facets and exports."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from sqlalchemy import update

from db.models import EpisodeRow
from db.queries.facets import count_facets
from db.queries.filters import parse_where
from lumos_queue.web.views import episode_list
from tests.page_jobs import BROKEN, FAILED, RIGHT, WRONG, evaluation
from tests.scored_jobs import create_scored_job

HTMX = {"hx-request": "true"}
NAME = r'href="/episodes/(\w{8}-\d+)\?'


def names(text: str) -> list[str]:
    return re.findall(NAME, text)


@pytest.fixture
def job(database) -> str:
    return evaluation(database, [RIGHT, WRONG, FAILED, BROKEN, RIGHT], "How many <b>boxes</b>?\u202e")


def test_a_job_lists_its_episodes_and_a_filter_chooses_some(explorer, job):
    client = explorer.client()
    text = client.get(f"/jobs/{job}/episodes").text
    assert names(text) == [f"{job}-{number}" for number in range(5)]
    assert "<b>boxes" not in text and "\u202e" not in text and "How many &lt;b&gt;boxes" in text
    # What a filter chooses may take long to find: it comes after the page.
    page = client.get(f"/jobs/{job}/episodes", params={"where": "score<1"})
    (later,) = re.findall(r'hx-get="(/episodes/rows[^"]*)"', page.text)
    rows = client.get(later.replace("&amp;", "&"), headers=HTMX)
    assert "<html" not in rows.text and names(rows.text) == [f"{job}-1", f"{job}-2"]
    # j and k of an episode go on under the same filter, with the job in it.
    assert re.findall(r"where=([^\"]+)", rows.text)[0] == f"job%3D{job}+score%3C1"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_pages_follow_each_other_without_a_gap(explorer, database, monkeypatch):
    monkeypatch.setattr(episode_list, "PAGE", 3)
    job = create_scored_job(database, [[number % 2] for number in range(8)])
    client, seen, path = explorer.client(), [], f"/jobs/{job}/episodes"
    while path:
        text = client.get(path).text
        seen.append(names(text))
        found = re.findall(r'href="([^"]+)"[^>]*rel="next"', text)
        path = found[0].replace("&amp;", "&") if found else ""
    assert [len(one) for one in seen] == [3, 3, 2]
    assert [name for page in seen for name in page] == [f"{job}-{number}" for number in range(8)]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_all_jobs_have_one_list_and_wrong_filters_one_line(explorer, database, job):
    other = create_scored_job(database, [[1]], digest="cd" * 32)
    client = explorer.client()
    assert {name[:8] for name in names(client.get("/episodes").text)} == {job, other}
    for wrong in ("nonsense", "score=x", "text~'", "benchmark=wordmth", "failure=none", "\0"):
        for path in ("/episodes", f"/jobs/{job}/episodes"):
            answer = client.get(path, params={"where": wrong})
            assert answer.status_code == 400 and 'role="alert"' in answer.text, wrong
        for part in ("rows", "facets", "export.csv"):
            assert client.get(f"/episodes/{part}", params={"where": wrong}).status_code == 400
    assert client.get(f"/jobs/{job}/episodes", params={"after": "x'--"}).status_code == 400
    assert client.get("/jobs/zzzzzzzz/episodes").status_code == 404
    assert client.get(f"/jobs/{job[:5]}/episodes").headers["location"] == f"/jobs/{job}/episodes"


def test_facets_add_a_term_or_take_it_away(explorer, job):
    client = explorer.client()
    text = client.get("/episodes/facets", params={"job": job, "where": "ending=answered"}, headers=HTMX).text
    found = dict(re.findall(r'href="(/jobs/[^"]+)"[^>]*>([^<]+)</a>', text))
    assert found == {
        f"/jobs/{job}/episodes": "answered",
        f"/jobs/{job}/episodes?where=ending%3Danswered+score%3D0": "0",
        f"/jobs/{job}/episodes?where=ending%3Danswered+score%3D1": "1",
        f"/jobs/{job}/episodes?where=ending%3Danswered+subgoals%3D1": "1",
    }
    assert "Of 3 episodes." in text and 'aria-current="true">answered' in text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_facets_count_up_to_a_bound_and_say_so(explorer, database, job):
    with database.writer.begin() as connection:
        refused = {"message": "tgi://10.0.0.1:80 answered 422: no"}
        connection.execute(update(EpisodeRow).where(EpisodeRow.ending == "infra_error").values(refused))
    with database.engine.connect() as connection:
        whole = count_facets(connection, parse_where(f"job={job}"))
        part = count_facets(connection, parse_where(f"job={job}"), limit=2)
        refused = count_facets(connection, parse_where("failure=refused"))
        assert count_facets(connection, parse_where("benchmark=hotpotqa")).counted == 0
    assert (whole.counted, whole.has_more) == (5, False)
    assert whole.endings == {"answered": 3, "action_error": 1, "infra_error": 1}
    assert (whole.scores, whole.subgoals, whole.failures) == ({0.0: 2, 1.0: 2}, {1: 5}, {"refused": 1})
    assert (part.counted, part.has_more, part.scores) == (2, True, {0.0: 1, 1.0: 1})
    assert refused.endings == {"infra_error": 1}


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_exports_hold_what_is_seen_and_no_formula_runs(explorer, database, monkeypatch):
    monkeypatch.setattr(episode_list, "CHUNK", 2)
    job = evaluation(database, [RIGHT, WRONG, WRONG, WRONG], '=HYPERLINK("http://evil.example")')
    client = explorer.client()
    answer = client.get("/episodes/export.csv", params={"job": job, "where": "score<1"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["episode"] for row in rows] == [f"{job}-{number}" for number in (1, 2, 3)]
    assert all(row["question"].startswith("'=HYPERLINK") and row["score"] == "0.0" for row in rows)
    lines = client.get("/episodes/export.jsonl", params={"job": job, "where": "score<1"}).text.splitlines()
    assert [json.loads(line)["question"][:10] for line in lines] == ["=HYPERLINK"] * 3
    monkeypatch.setattr(episode_list, "EXPORTED", 3)
    assert len(client.get("/episodes/export.jsonl", params={"job": job}).text.splitlines()) == 3


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_a_text_is_looked_for_in_some_episodes_and_the_export_goes_on(explorer, database, monkeypatch):
    monkeypatch.setattr("db.queries.text_search.find_page.__defaults__", (2, None))
    job = create_scored_job(database, [[1]] * 6)
    client = explorer.client()
    rows = client.get("/episodes/rows", params={"job": job, "where": 'text~"question 5"'}, headers=HTMX).text
    assert names(rows) == [] and "searched in 2 episodes" in rows and "Continue" in rows
    lines = client.get("/episodes/export.jsonl", params={"job": job, "where": 'text~"question 5"'}).text.splitlines()
    assert [json.loads(line)["episode"] for line in lines] == [f"{job}-5"]
