"""What was stored before the database's clock was set back delays nothing for long. A test writes the times in the
future that such a clock leaves behind."""

from __future__ import annotations

from sqlalchemy import select, update

from db.engine.connection import now
from db.engine.lease import Lease
from db.models import EpisodeRow, Heartbeat, Item, JobRow
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from db.queries.trajectories import stream_episodes
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.fence import start_session
from db.queue.figures import progress
from db.queue.job_changes import finish_if_idle
from db.queue.presence import read_presence
from db.queue.removal import hide, remove_leftovers
from db.queue.schedule import back_off, runnable_jobs
from db.queue.sessions import live_sessions
from lumos_queue.reports.wall_time import wall_seconds
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from tests.services import wait_until
from workers.session import WorkerSession

HOURS = 7200.0


def states(database, job: str) -> dict[str, int]:
    with database.engine.connect() as connection:
        return progress(connection, job)


def test_items_of_a_dead_process_are_pending_again(database):
    job = new_job(database)
    dead = holder(database, job)
    assert len(claim(database, dead)) == 4
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == dead.session).values(at=now() + HOURS))
    settings = Settings(lease_seconds=1.5, fence_seconds=1.0, heartbeat_seconds=0.2)
    session = WorkerSession(database, settings, "1")
    try:
        wait_until(lambda: states(database, job) == {"owed": 4}, "a session that beats no more loses its items")
        with database.engine.connect() as connection:
            assert [row.id for row in live_sessions(connection, Lease(1.5))] == [session.id]
    finally:
        session.close()


def test_a_heartbeat_in_the_future_is_no_sign_of_life(database):
    session = start_session(database, "1")
    with database.writer.begin() as connection:
        assert [row.id for row in live_sessions(connection, Lease(15.0))] == [session]
        connection.execute(update(Heartbeat).values(at=now() + HOURS))
        assert live_sessions(connection, Lease(15.0)) == [] and read_presence(connection, Lease(15.0)).workers == 0
        connection.execute(update(Heartbeat).values(at=now() + 5))
        (row,) = live_sessions(connection, Lease(15.0))
        assert row.silent_seconds == 0.0


def test_items_and_jobs_that_wait_are_due(database):
    job = new_job(database)
    with database.writer.begin() as connection:
        connection.execute(update(Item).values(not_before_at=now() + 800))
    assert runnable_jobs(database, ["llm"]) == []
    with database.writer.begin() as connection:
        connection.execute(update(Item).values(not_before_at=now() + HOURS))
        connection.execute(update(JobRow).values(not_before_at=now() + 50))
    assert runnable_jobs(database, ["llm"]) == []
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(not_before_at=now() + HOURS))
    assert runnable_jobs(database, ["llm"]) == [job]
    back_off(database, job, "503", 10.0)  # a wait of before does not count as the same outage
    with database.engine.connect() as connection:
        assert get_job(connection, job).waits == 1
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(not_before_at=0.0))
    assert len(claim(database, holder(database, job))) == 4


def test_a_job_submitted_in_the_future_counts_as_old(database):
    job = new_job(database)
    assert runnable_jobs(database, ["llm"], older_than=60.0) == []
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(created_at=now() + HOURS))
    assert runnable_jobs(database, ["llm"], older_than=60.0) == [job]


def test_a_job_whose_removal_died_is_removed(database):
    job = new_job(database)
    with database.writer.begin() as connection:
        hide(connection, job)
    remove_leftovers(database)
    with database.writer.begin() as connection:
        assert connection.execute(select(JobRow.id)).scalars().all() == [job]
        connection.execute(update(JobRow).values(not_before_at=now() + HOURS))
    remove_leftovers(database)
    with database.engine.connect() as connection:
        assert connection.execute(select(JobRow.id)).scalars().all() == []


def test_an_end_is_never_before_its_start(database):
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who)
    with database.writer.begin() as connection:
        connection.execute(update(EpisodeRow).values(started_at=now() + HOURS))
        connection.execute(update(JobRow).values(started_at=now() + HOURS, state="running"))
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items]))
    assert finish_if_idle(database, job) == "done"
    with database.engine.connect() as connection:
        rows = connection.execute(select(EpisodeRow.started_at, EpisodeRow.finished_at)).all()
        assert len(rows) == 4 and all(row.finished_at == row.started_at for row in rows)
        stored = get_job(connection, job)
        assert stored.finished_at == stored.started_at and wall_seconds(connection, stored) == 0.0


def test_episodes_that_ended_in_the_future_are_read(database):
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who)
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items]))
    finish_if_idle(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(EpisodeRow).values(finished_at=now() + HOURS))
        connection.execute(update(JobRow).values(finished_at=now() + HOURS + 1))
    assert len(list(stream_episodes(database, parse_where(f"job={job}")))) == 4


def test_a_job_that_runs_has_taken_no_negative_time(database):
    job = new_job(database)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(started_at=now() + HOURS))
        assert wall_seconds(connection, get_job(connection, job)) == 0.0
        connection.execute(update(JobRow).values(started_at=now() - 50))
        assert 49 < (wall_seconds(connection, get_job(connection, job)) or 0) < 60
