"""Ratings beside labels, on both databases: each kind is replaced by its own kind alone."""

from __future__ import annotations

import pytest
from sqlalchemy import select, text

from db.engine.connection import Database
from db.models import Item
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from db.queries.labels import find_wrong_episodes, labels_of, newest_ratings
from db.queries.trajectories import find_episodes
from db.queue.batch import Batch
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.review.labels import NewLabel, add_labels
from lumos_queue.errors import SpecError
from lumos_queue.reports.human_feedback import count_plan_answers, measure_ratings
from lumos_queue.reports.json_values import as_json
from tests.claims import finish, holder, new_job


@pytest.fixture
def job(database) -> str:
    """Three finished episodes."""
    made = new_job(database, tasks=3)
    hand = holder(database, made)
    claimed = commit(database, hand, Batch({}), ClaimRequest(3))
    commit(database, hand, Batch({one.id: one.claim for one in claimed}, finished=[finish(one) for one in claimed]))
    return made


def keys(database: Database, job: str) -> list[int]:
    with database.engine.connect() as connection:
        return list(connection.execute(select(Item.id).where(Item.job == job).order_by(Item.ordinal)).scalars())


def found(database: Database, where: str) -> list[int]:
    with database.engine.connect() as connection:
        return [row.ordinal for row in find_episodes(connection, parse_where(where), 0, 10)]


def test_the_newest_rating_of_each_person_counts_and_replaces_no_label(database, job):
    first, second, _ = keys(database, job)
    for episode, value, who in (
        (first, "2", "ann"),
        (first, "9", "ann"),
        (first, "wrong", "ann"),
        (first, "10", "ann"),
        (first, "4", "ben"),
        (second, "7", "ann"),
        (second, "right", "ann"),
    ):
        add_labels(database, [NewLabel(episode, value, who)])
    assert found(database, "rating>=8") == [0] and found(database, "rating<8") == [0, 1], "ben says 4"
    assert found(database, "rating=2") == [] == found(database, "rating=9"), "they were replaced"
    assert found(database, "rating!=7") == [0] and found(database, "rating=7 label=right") == [1]
    assert found(database, "label=wrong") == [0] and found(database, "label!=right") == [0, 2]
    with database.engine.connect() as connection:
        assert [(one.labeller, one.value) for one in labels_of(connection, first)] == [
            ("ann", "wrong"),
            ("ann", "10"),
            ("ben", "4"),
        ]
        ratings = [rating[:3] for rating in newest_ratings(connection, job)]
        assert ratings == [(first, "ann", 10), (first, "ben", 4), (second, "ann", 7)]
        assert find_wrong_episodes(connection) == {first}, "builds leave it out, whatever it was rated afterwards"
        shown = connection.execute(text("SELECT episode_id, value FROM v_labels ORDER BY episode_id, value")).all()
        assert [tuple(row) for row in shown] == [
            (first, "10"),
            (first, "4"),
            (first, "wrong"),
            (second, "7"),
            (second, "right"),
        ]
        ratings = as_json(measure_ratings(connection, get_job(connection, job)))
    low, high = ratings.pop("ci95")
    assert ratings == {"mean": 7.0, "rated": 2, "of": 3, "people": 2} and 1 <= low < 7 < high <= 10


def test_a_rating_is_of_a_whole_episode_and_a_number_from_1_to_10(database, job):
    key = keys(database, job)[0]
    for bad in (
        NewLabel(key, "11", "ann"),
        NewLabel(key, "0", "ann"),
        NewLabel(key, "07", "ann"),
        NewLabel(key, "7", "ann", position=0, branch=0),
        NewLabel(key, "7", "ann", audit="a"),
    ):
        with pytest.raises(SpecError, match="No label called"):
            add_labels(database, [bad])
    with database.engine.connect() as connection:
        assert newest_ratings(connection, job) == []
        assert measure_ratings(connection, get_job(connection, job)) is None
        assert count_plan_answers(connection, get_job(connection, job)) is None
