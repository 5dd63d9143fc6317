"""Episodes that no worker ran: all of them appear, or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import func, select

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.journal.step_records import load_steps
from db.models import Dataset, EpisodeRow, Item, JobRow, TaskRow, VerdictRow
from db.queries.jobs import get_job
from db.queue.job_changes import finish_if_idle, remove
from db.queue.new_jobs import NewJob
from db.queue.schedule import find_idle_jobs
from db.transfer.imports import CHUNK, ImportedEpisode, store_episodes
from lumos_queue.commands import Do, Note, Step
from lumos_queue.records import Action, Execution, Outcome, Subgoal, Task, Verdict

ACTION = Action(("R1",), "Calculator", "1 + 1", "R1 = Calculator(1 + 1)")
DONE = Execution("ok", "2", ({"text": "2"},))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path: Path):
    url = f"sqlite:///{tmp_path / 'lumos.sqlite3'}" if request.param == "sqlite" else None
    opened = open_database(url or request.getfixturevalue("postgres_url"))
    if url:
        upgrade(opened)
    yield opened
    opened.close()


def new(digest: str = "ab" * 32) -> NewJob:
    return NewJob(
        "import", "cpu", digest, {"files": []}, "made-up", "iterative", "", "train", "MIT", 0, "p", "me", 0, "v"
    )


def made(count: int, ending: str = "answered"):
    for number in range(count):
        steps = (Step(0, 0, Note(Subgoal(1, f"Subgoal 1: Add {number}.")), None), Step(1, 0, Do(ACTION), DONE))
        task = Task("made-up", "d" * 64, f"row-{number}", f"What is {number}?", {}, None)
        yield ImportedEpisode(task, steps, Outcome("2", ending), "format", (Verdict("grounder", "overlong"),))


def count(database: Database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_episodes_come_back_with_their_tasks_steps_and_verdicts(database):
    job, created = store_episodes(database, new(), made(CHUNK + 3), "imported", "d" * 64)
    assert created
    with database.engine.connect() as connection:
        row = get_job(connection, job)
        assert (row.state, row.items, row.origin, row.licence, row.split) == (
            "done",
            CHUNK + 3,
            "imported",
            "MIT",
            "train",
        )
        wanted = (
            select(EpisodeRow.__table__, Item.ordinal, TaskRow.row)
            .join(Item, Item.id == EpisodeRow.id)
            .join(TaskRow, TaskRow.id == EpisodeRow.task)
            .order_by(Item.ordinal)
        )
        episodes = connection.execute(wanted).all()
        assert [one.row for one in episodes] == [f"row-{number}" for number in range(CHUNK + 3)]
        assert {(one.ending, one.level, one.origin, one.answer, one.job) for one in episodes} == {
            ("answered", "format", "imported", "2", job)
        }
        assert all(one.finished_at for one in episodes)
        steps = load_steps(connection, {episodes[-1].id: 1})[episodes[-1].id]
        assert [step.detail for step in steps] == [Subgoal(1, f"Subgoal 1: Add {CHUNK + 2}."), ACTION]
        assert steps[1].result == DONE
        assert connection.execute(select(Dataset.rows)).scalar_one() == CHUNK + 3
    assert count(database, VerdictRow.__table__) == CHUNK + 3
    assert find_idle_jobs(database) == []
    assert finish_if_idle(database, job) == "done"


def test_storing_the_same_again_finds_what_is_there(database):
    job, _ = store_episodes(database, new(), made(2), "imported", "d" * 64)
    assert store_episodes(database, new(), made(2), "imported", "d" * 64) == (job, False)
    second, created = store_episodes(database, new(), made(2), "imported", "d" * 64, again=True)
    assert created
    assert second != job
    assert count(database, TaskRow.__table__) == 2


def test_a_failure_in_the_middle_leaves_nothing(database):
    def failing():
        yield from made(CHUNK + 1)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        store_episodes(database, new(), failing(), "imported", "d" * 64)
    assert [count(database, table.__table__) for table in (JobRow, Dataset, TaskRow, Item, EpisodeRow)] == [0] * 5


def test_nothing_is_finished_before_everything_is_stored_and_leftovers_go(database):
    def watching():
        yield from made(CHUNK)
        yield from made(1)  # the first chunk is committed when this one is asked for
        with database.engine.connect() as connection:
            assert connection.execute(select(JobRow.state)).scalars().all() == ["importing"]
            assert set(connection.execute(select(EpisodeRow.ending)).scalars()) == {""}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_episodes(database, new(), watching(), "imported", "d" * 64)
    with database.writer.begin() as connection:  # as a killed process would leave it
        connection.execute(JobRow.__table__.insert().values(**left_over()))
    job, created = store_episodes(database, new(), made(1), "imported", "d" * 64)
    assert created
    with database.engine.connect() as connection:
        assert connection.execute(select(JobRow.id)).scalars().all() == [job]


def left_over() -> dict:
    return {
        "id": "leftover",
        "kind": "import",
        "pool": "cpu",
        "digest": "ab" * 32,
        "spec": {},
        "benchmark": "made-up",
        "items": 0,
        "ordered": False,
        "state": "importing",
        "waiting": "",
        "not_before_at": 0.0,
        "waits": 0,
        "project": "p",
        "submitted_by": "me",
        "priority": 0,
        "origin": "imported",
        "licence": "",
        "split": "",
        "seed": 0,
        "code_version": "v",
        "formulation": "",
        "agent": "",
        "created_at": 0.0,
    }


def test_an_import_that_is_removed_while_it_runs_says_so(database):
    def removing():
        yield from made(CHUNK)
        with database.engine.connect() as connection:
            job = connection.execute(select(JobRow.id)).scalar_one()
        remove(database, job)
        yield from made(1)

    with pytest.raises(Exception, match="was removed while"):
        store_episodes(database, new(), removing(), "imported", "d" * 64)
    assert count(database, JobRow.__table__) == 0


def test_a_correction_keeps_the_stored_task_and_names_its_parent(database):
    store_episodes(database, new(), made(1), "imported", "d" * 64)
    with database.engine.connect() as connection:
        parent = connection.execute(select(EpisodeRow.__table__)).one()
    steps = (Step(0, 0, Note(Subgoal(1, "Subgoal 1: Add.")), None), Step(1, 0, Do(ACTION), Execution("syntax")))
    corrected = ImportedEpisode(parent.task, steps, Outcome(None, "action_error", "no"), parent=parent.id)
    job, _ = store_episodes(database, new("cd" * 32), [corrected], "corrected", "d" * 64)
    with database.engine.connect() as connection:
        found = connection.execute(select(EpisodeRow.__table__).where(EpisodeRow.job == job)).one()
    assert (found.task, found.parent, found.origin, found.ending) == (
        parent.task,
        parent.id,
        "corrected",
        "action_error",
    )
    assert count(database, TaskRow.__table__) == 1
