"""The jobs that have not ended, failures, ratings and source jobs, as readers get them. On both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from db.engine.connection import Database
from db.queries.derived_episodes import find_source_jobs
from db.queries.labels import newest_ratings
from db.queries.open_jobs import find_open_jobs, list_open_ids, list_open_jobs
from db.queries.results import list_latest_failures
from db.queue.job_changes import pause
from db.review.labels import NewLabel, add_labels
from tests.claims import new_job
from tests.scored_jobs import create_scored_job, tasks_of


@pytest.fixture
def jobs(database) -> list[str]:
    """Three open jobs, the oldest first, and then a paused job."""
    names = [new_job(database, tasks=1, digest=f"{number}" * 64) for number in range(4)]
    pause(database, names[3])
    with database.writer.begin() as connection:
        for number, job in enumerate(names):
            values = {"moment": 1000.0 + number, "job": job}
            connection.execute(text("UPDATE job SET created_at = :moment WHERE id = :job"), values)
    return names


def change(database: Database, statement: str, **values) -> None:
    with database.writer.begin() as connection:
        assert connection.execute(text(statement), values).rowcount > 0


def test_the_newest_open_jobs_are_listed_with_whether_there_are_more(database, jobs):
    oldest, middle, newest = jobs[:3]
    with database.engine.connect() as connection:
        assert list_open_ids(connection) == [oldest, middle, newest]
        assert find_open_jobs(connection, jobs) == {oldest, middle, newest} and find_open_jobs(connection, []) == set()
        for limit, ids, has_more in ((2, [newest, middle], True), (3, [newest, middle, oldest], False)):
            listed, more = list_open_jobs(connection, limit)
            assert [job.id for job in listed] == ids and more is has_more


def test_a_damaged_open_job_is_left_out_and_counts(database, jobs):
    change(database, "UPDATE job SET spec = '[]' WHERE id = :job", job=jobs[2])
    with database.engine.connect() as connection:
        listed, more = list_open_jobs(connection, 2)
        assert [job.id for job in listed] == [jobs[1]] and more


def test_the_latest_failure_comes_first_and_equal_beginnings_count_together(database):
    job = create_scored_job(database, [[0.0], [0.0], [0.0], [1.0]])
    rows = (("limit", "full: 1", 10.0), ("limit", "full: 2", 30.0), ("no_answer", "late", 20.0))
    for number, (ending, message, moment) in enumerate(rows):
        change(
            database,
            "UPDATE episode SET ending = :ending, message = :message, finished_at = :moment WHERE id = "
            "(SELECT id FROM item WHERE job = :job AND ordinal = :number)",
            ending=ending,
            message=message,
            moment=moment,
            job=job,
            number=number,
        )
    with database.engine.connect() as connection:
        assert list_latest_failures(connection, job, 4, 10) == [("limit", "full", 2), ("no_answer", "late", 1)]
        assert list_latest_failures(connection, job, 7, 1) == [("limit", "full: 2", 1)]


def test_the_jobs_whose_episodes_became_the_tasks_of_a_dataset(database):
    tasks = tasks_of(2, "derived", **{"from": {"episode": "k3f9a2cd-17"}})
    create_scored_job(database, [[1.0], [0.0]], tasks)
    create_scored_job(database, [[1.0]])
    with database.engine.connect() as connection:
        assert find_source_jobs(connection, "derived") == {"k3f9a2cd"} and find_source_jobs(connection, "data") == set()


def test_a_rating_names_the_task_of_its_episode(database):
    job = create_scored_job(database, [[1.0, 0.0], [1.0, 1.0]])
    with database.engine.connect() as connection:
        items = connection.execute(text("SELECT id, task FROM item WHERE job = :job"), {"job": job}).all()
    for item, _ in items:
        add_labels(database, [NewLabel(item, "5", "ann")])
    with database.engine.connect() as connection:
        assert {(rating.episode, rating.task) for rating in newest_ratings(connection, job)} == {*map(tuple, items)}
    assert len({task for _, task in items}) == 2
