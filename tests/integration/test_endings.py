"""`lumos resume` owes episodes again that infrastructure ended; what they had been is kept, labels and builds too."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import func, insert, literal, select

from db.models import Attempt, EndingHistory, EpisodeRow, Item, JobRow, Label, ScoreRow, VerdictRow
from db.queries.jobs import get_job
from db.queries.trajectory import get_trajectory
from db.queue.batch import Batch, FinishedItem
from db.queue.commit import commit
from db.queue.figures import count_endings, progress
from db.queue.job_changes import finish_if_idle, resume
from db.queue.sums import add_counted
from db.review.labels import NewLabel, add_labels
from lumos_queue.records import Outcome, Score, Verdict
from tests.claims import claim, holder, new_job


def end(item, ending: str = "infra_error", message: str = "http://host answered 404: gone"):
    """The item's result, refused by an endpoint; judged all the same, so that something must move."""
    answered = ending == "answered"
    return FinishedItem(
        item.id,
        Outcome("7" if answered else None, ending, "" if answered else message),
        (Score("accuracy", float(answered)),),
        verdicts=(Verdict("planner", "refused", "by the endpoint"),),
    )


@pytest.fixture
def ended(database):
    """A job that is done: the second of its four episodes was ended by infrastructure, and a person labelled it."""
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who)
    batch = Batch(
        {item.id: item.claim for item in items},
        finished=[end(item, "infra_error" if item.ordinal == 1 else "answered") for item in items],
    )
    commit(database, who, batch)
    assert finish_if_idle(database, job) == "done"
    add_labels(database, [NewLabel(items[1].id, "unsure", "ada", "the server was away")])
    return job, items[1].id


def one(database, table, *conditions):
    with database.engine.connect() as connection:
        return connection.execute(select(table.__table__).where(*conditions)).all()


def test_an_episode_that_infrastructure_ended_is_owed_again_with_its_past_kept(database, ended):
    job, episode = ended
    assert resume(database, job) == "queued"
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"done": 3, "owed": 1}
        assert count_endings(connection, job) == {"answered": 3}
        assert get_job(connection, job).finished_at is None
    (row,) = one(database, EpisodeRow, EpisodeRow.id == episode)
    assert (row.ending, row.answer, row.message, row.level, row.finished_at) == ("", None, "", "", None)
    assert row.attempt == 1
    assert not one(database, ScoreRow, ScoreRow.episode == episode)
    assert not one(database, VerdictRow, VerdictRow.episode == episode)
    assert len(one(database, ScoreRow)) == 3
    (past,) = one(database, EndingHistory)
    assert (past.episode, past.number, past.ending, past.attempt) == (episode, 1, "infra_error", 1)
    assert past.message == "http://host answered 404: gone"
    assert past.scores == [{"metric": "accuracy", "version": "1", "value": 0.0, "trials": 1, "detail": ""}]
    assert past.verdicts == [{"module": "planner", "name": "refused", "rejects": True, "detail": "by the endpoint"}]
    assert past.finished_at is not None and past.replaced_at >= past.finished_at
    assert [label.labeller for label in one(database, Label)] == ["ada"]


def test_it_may_fail_and_be_owed_again_as_often_as_need_be(database, ended):
    job, episode = ended
    for number in (1, 2, 3):
        assert resume(database, job) == "queued"
        who = holder(database, job)
        (item,) = claim(database, who)
        assert (item.id, item.claim, item.attempt) == (episode, number + 1, 1)
        ended_again = end(item, "infra_error" if number < 3 else "answered")
        commit(database, who, Batch({item.id: item.claim}, finished=[ended_again]))
        assert finish_if_idle(database, job) == "done"
    assert [row.number for row in one(database, EndingHistory)] == [1, 2, 3]
    assert resume(database, job) == "done"
    (score,) = one(database, ScoreRow, ScoreRow.episode == episode)
    assert score.value == 1.0
    with database.engine.connect() as connection:
        found = get_trajectory(connection, get_job(connection, job), 1)
    assert [past.message for past in found.earlier] == ["http://host answered 404: gone"] * 3


def test_a_running_job_gives_back_only_what_has_ended(database):
    job = new_job(database)
    who = holder(database, job)
    first, second, *_ = claim(database, who, 3)
    commit(database, who, Batch({first.id: 1, second.id: 1}, finished=[end(first)]))
    resume(database, job)
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"owed": 2, "claimed": 2}
    # What was held goes on to be finished by its holder, and a commit that is sent again changes nothing.
    commit(database, who, Batch({first.id: 1, second.id: 1}, finished=[end(first), end(second, "answered")]))
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"owed": 2, "claimed": 1, "done": 1}
        assert count_endings(connection, job) == {"answered": 1}


@pytest.mark.parametrize("origin", ["imported", "corrected"])
def test_episodes_that_were_stored_whole_are_left_as_they_are(database, ended, origin):
    job, _ = ended
    with database.writer.begin() as connection:
        connection.execute(JobRow.__table__.update().values(origin=origin))
    assert resume(database, job) == "done"
    assert not one(database, EndingHistory)


@pytest.mark.long
def test_a_hundred_thousand_episodes_are_owed_again_in_seconds(database):
    episodes = 100_000
    job = new_job(database, tasks=0, windows=episodes)
    with database.writer.begin() as connection:
        connection.execute(Item.__table__.update().values(state="done", claim=1))
        text = {name: "" for name in ("formulation", "agent", "split", "licence", "level", "message")}
        same = {
            "job": job,
            "task": 1,
            "sample": 0,
            "origin": "run",
            "attempt": 1,
            "ending": "infra_error",
            "calls": 0,
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "seconds": 0.0,
            "finished_at": 0.0,
        } | text
        _fill(connection, EpisodeRow, {"id": Item.id} | same)
        _fill(connection, Attempt, {"episode": Item.id, "number": 1, "code_version": "1", "started_at": 0.0})
        score = {"episode": Item.id, "metric": "accuracy", "version": "1", "value": 0.0, "trials": 1, "detail": ""}
        _fill(connection, ScoreRow, score)
        add_counted(connection, 0, Item.job == job)
    began = time.monotonic()
    finish_if_idle(database, job)
    assert resume(database, job) == "queued"
    seconds = time.monotonic() - began
    with database.engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(EndingHistory)).scalar() == episodes
        assert connection.execute(select(func.count()).select_from(ScoreRow)).scalar() == 0
        assert progress(connection, job) == {"owed": episodes}
    print(f"{seconds:.1f} s")
    assert seconds < 60


def _fill(connection, table, values):
    """A row of `table` for each item."""
    wanted = select(*(value if value is Item.id else literal(value) for value in values.values()))
    connection.execute(insert(table).from_select(list(values), wanted))
