"""A search for a text stops after so many episodes and goes on from there. SQLite and PostgreSQL."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import event, select

import db.queries.text_search as module
from db.engine.snapshot import reading
from db.models import Item
from db.queries.filters import parse_where
from db.queries.text_search import find_page
from db.queries.trajectories import find_episodes
from db.queue.batch import Batch, FinishedItem
from db.queue.claims import ClaimRequest
from lumos_queue.cli.main import app
from lumos_queue.records import Outcome
from tests.claims import claim, commit, holder, new_job

EPISODES = 60
RARE = {7: "a heron", 31: "a heron", 59: "a heron"}


def finished(database, digest: str = "ab" * 32) -> str:
    """A job of finished episodes, of which a few have a rare answer."""
    job = new_job(database, tasks=EPISODES, digest=digest)
    who = holder(database, job)
    items = sorted(claim(database, who, EPISODES), key=lambda item: item.ordinal)
    ended = [FinishedItem(item.id, Outcome(RARE.get(item.ordinal, "7"), "answered"), ()) for item in items]
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=ended), ClaimRequest(0))
    return job


def found(database, where: str, after: int = 0, limit: int = 21, most: int = 1000):
    with reading(database) as connection:
        page = find_page(connection, parse_where(where), after, limit, most)
        return [row.ordinal for row in page.rows], page.searched, page.stopped_at


@pytest.fixture
def few_at_once(monkeypatch):
    monkeypatch.setattr(module, "FIRST", 4)
    monkeypatch.setattr(module, "MAX_AT_ONCE", 9)


def test_a_search_that_is_not_cut_off_finds_what_an_unbounded_one_finds(database, few_at_once):
    job = finished(database)
    finished(database, "cd" * 32)
    for where in (
        f"job={job} text~heron",
        "text~heron",
        "text~question text~1",
        "text~nothing-of-it",
        f"job!={job} text~a",
    ):
        with reading(database) as connection:
            whole = [row.ordinal for row in find_episodes(connection, parse_where(where), 0, 200)]
        assert found(database, where, limit=200) == (whole, 2 * EPISODES if "job" not in where else EPISODES, None)


def test_it_stops_after_the_bound_and_says_where(database, few_at_once):
    job = finished(database)
    assert found(database, f"job={job} text~heron", most=20) == ([7], 20, f"{job}-19")
    assert found(database, "text~nothing-of-it", most=20) == ([], 20, f"{job}-19")
    with database.engine.connect() as connection:
        places = dict(connection.execute(select(Item.ordinal, Item.id).where(Item.job == job)).tuples().all())
    assert found(database, "text~heron", after=places[19], most=20) == ([31], 20, f"{job}-39")
    assert found(database, "text~heron", after=places[39], most=21) == ([59], 20, None)


def test_a_page_that_is_full_ends_the_search(database, few_at_once):
    finished(database)
    rows, searched, stopped = found(database, "text~heron", limit=1)
    assert (rows, stopped) == ([7], None) and searched < EPISODES


def test_only_episodes_that_meet_the_other_terms_are_counted(database, few_at_once):
    finished(database)
    other = finished(database, "cd" * 32)
    assert found(database, f"job={other} text~heron", most=EPISODES + 1) == ([7, 31, 59], EPISODES, None)


def test_no_statement_searches_more_than_its_share(database, few_at_once):
    """What bounds a search bounds each of its statements: no step of other episodes is looked at."""
    finished(database)
    sent = []
    event.listen(database.engine, "before_cursor_execute", lambda *given: sent.append(given[2:4]))
    found(database, "text~heron", most=20)
    searches = [statement for statement, _ in sent if "subgoal" in statement]
    assert len(searches) == 3  # 4, 9 and 7 episodes
    assert all(one.count("BETWEEN") >= 5 for one in searches)


def test_without_a_text_nothing_is_bounded(database):
    job = finished(database)
    assert found(database, f"job={job}", limit=200, most=3) == (list(range(EPISODES)), None, None)


def test_the_command_offers_to_go_on(database, few_at_once, monkeypatch, capsys, tmp_path):
    job = finished(database)
    monkeypatch.setenv("LUMOS_DATABASE_URL", database.url.replace("+psycopg", ""))
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setattr(module.find_page, "__defaults__", (20, None))
    app(args=["episodes", job, "--where", "text~heron"], standalone_mode=False)
    said = capsys.readouterr().out
    assert "20 episodes" in said and "1 matched" in said
    assert f"Continue: lumos episodes {job} --where text~heron --after {job}-19 --limit 20" in said.replace("'", "")
    app(args=["episodes", job, "--where", "text~heron", "--after", f"{job}-19", "--json"], standalone_mode=False)
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [one["episode"] for one in result["episodes"]] == [f"{job}-31"]
    assert (result["searched"], result["next"]) == (20, f"{job}-39")
    app(args=["episodes", job, "--where", "text~nothing-of-it", "--after", f"{job}-39"], standalone_mode=False)
    assert "No finished episode matches." in capsys.readouterr().out
