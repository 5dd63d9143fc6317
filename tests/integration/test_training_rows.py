"""Optimizer steps and models: stored with the acceptance of their item, once, and gone with their job."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest
from sqlalchemy import text

import workers.writer
from db.engine.bulk import RowsDiffer
from db.engine.connection import open_database
from db.engine.migrate import downgrade, upgrade
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import NO_CLAIM
from db.queue.commit import commit, end_refused
from db.queue.fence import Fenced
from db.queue.job_changes import cancel, finish_if_idle, remove
from db.queue.training_steps import find_models, insert_models, list_models, list_steps, summarize_fits
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.records import TrainedModel, TrainingStep
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.training import collect_training_figures
from lumos_queue.settings import Settings
from tests.claims import claim, holder, new_job
from tests.integration.test_deaths import kill
from tests.integration.test_slices import Doing, run
from tests.stored_rows import state

TABLES = ("training_step", "model")


def train_job(database, items: int = 3, **options) -> str:
    return new_job(database, tasks=0, kind="train", ordered=True, windows=items, **options)


def steps(first: int, last: int, **changes) -> tuple[TrainingStep, ...]:
    figures = {"fit": "a", "rate": 1e-3, "grad_norm": 0.5, "tokens": 100, "memory": 1 << 33} | changes
    return tuple(TrainingStep(**{"step": step, "loss": 3.0 / step, **figures}) for step in range(first, last + 1))


def model(name: str = "planner", digest: str = "aa" * 32, base: str = "", **changes) -> TrainedModel:
    return TrainedModel(
        **{
            "name": name,
            "path": f"/m/{name}",
            "kind": "adapter",
            "digest": digest,
            "bytes": 9,
            "base": base,
            "builds": ("b1", "b2"),
            **changes,
        }
    )


def done(item, dev_loss: float = 1.0, **changes) -> Batch:
    output = {"fit": "a", "dev_loss": dev_loss}
    return Batch({item.id: item.claim}, finished=[FinishedItem(item.id, output=output, **changes)])


def counts(database) -> list[int]:
    with database.engine.connect() as connection:
        return [connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in TABLES]


def test_rows_are_stored_once_though_the_commit_arrives_twice(database):
    job = train_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    batch = done(item, 0.9, training_steps=steps(1, 3), models=(model(), model("grounder")))
    for _ in range(2):
        commit(database, who, batch)
    assert counts(database) == [3, 2]
    (second,) = claim(database, who, 1)
    commit(database, who, done(second, 0.8, training_steps=steps(4, 5)))
    with database.engine.connect() as connection:
        found = list_steps(connection, job)
        assert [(row["item"], row["step"], row["tokens"], row["memory"]) for row in found] == [
            (0, 1, 100, 1 << 33),
            (0, 2, 100, 1 << 33),
            (0, 3, 100, 1 << 33),
            (1, 4, 100, 1 << 33),
            (1, 5, 100, 1 << 33),
        ]
        fits = summarize_fits(connection, job)
        assert fits == [{"fit": "a", "steps": 5, "tokens": 500, "first_loss": 3.0, "last_loss": 0.6, "memory": 1 << 33}]
        assert [(row.name, row.builds, row.ordinal) for row in find_models(connection, "a" * 8)] == [
            ("grounder", ["b1", "b2"], 0),
            ("planner", ["b1", "b2"], 0),
        ]
        view = text("SELECT job, item, step FROM v_training_steps ORDER BY step DESC LIMIT 1")
        assert tuple(connection.execute(view).one()) == (job, 1, 5)
        assert connection.execute(text("SELECT name FROM v_trained_models WHERE item = 0 ORDER BY 1")).all() == [
            ("grounder",),
            ("planner",),
        ]
        report = as_json(collect_training_figures(connection, job))
    assert report["windows"] == [{"item": 0, "fit": "a", "dev_loss": 0.9}, {"item": 1, "fit": "a", "dev_loss": 0.8}]
    assert report["fits"][0]["dev_loss"] == 0.8 and len(report["training_steps"]) == 5
    assert {one["name"] for one in report["models"]} == {"planner", "grounder"}


def test_a_figure_that_is_not_finite_is_null(database):
    job = train_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    commit(database, who, done(item, training_steps=steps(1, 1, loss=float("nan"), grad_norm=float("inf"))))
    with database.engine.connect() as connection:
        (row,) = list_steps(connection, job)
    assert (row["loss"], row["grad_norm"], row["rate"]) == (None, None, 1e-3)


def test_a_process_that_was_declared_dead_leaves_no_rows(database):
    job = train_job(database)
    first, second = holder(database, job), holder(database, job)
    (item,) = claim(database, first, 1)
    kill(database, first)
    with pytest.raises(Fenced):
        commit(database, first, done(item, training_steps=steps(1, 2), models=(model(),)))
    assert counts(database) == [0, 0]
    (again,) = claim(database, second, 1)
    commit(database, second, done(again, training_steps=steps(1, 2, rate=0.5), models=(model(),)))
    assert counts(database) == [2, 1]


def test_an_earlier_claim_of_the_same_process_leaves_no_rows(database):
    job = train_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
    (again,) = claim(database, who, 1)
    assert again.id == item.id
    commit(database, who, done(item, training_steps=steps(1, 2), models=(model(),)))
    assert counts(database) == [0, 0]


def test_a_step_that_another_item_has_stored_is_refused_and_fails_the_job(database):
    job = train_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    commit(database, who, done(item, training_steps=steps(1, 3)))
    (second,) = claim(database, who, 1)
    with pytest.raises(RowsDiffer):
        commit(database, who, done(second, training_steps=steps(3, 4)))
    end_refused(database, who, second.id, second.claim, "step 3 is there")
    assert (state(database, job), counts(database)) == ("failed", [3, 0])


def test_a_slice_whose_rows_are_refused_fails_its_job_and_tries_no_more(database):
    job = train_job(database)

    async def same(work: Work, journal) -> ItemResult:
        return ItemResult(output={}, training_steps=steps(1, 2))  # each item says the same steps

    doing = Doing(same, concurrency=1)
    run(database, job, doing)
    assert (doing.ran, state(database, job), counts(database)) == ([0, 1], "failed", [2, 0])


def test_removing_a_job_removes_its_steps_and_models_and_no_others(database):
    jobs = [train_job(database, digest=one * 64) for one in "ab"]
    for job in jobs:
        who = holder(database, job)
        (item,) = claim(database, who, 1)
        commit(database, who, done(item, training_steps=steps(1, 3), models=(model(),)))
    with database.writer.begin() as connection:
        insert_models(connection, None, None, [model("from elsewhere")])
    cancel(database, jobs[0])
    finish_if_idle(database, jobs[0])
    remove(database, jobs[0])
    assert counts(database) == [3, 2]
    with database.engine.connect() as connection:
        assert {row.job for row in list_models(connection)} == {jobs[1], None}
        assert list_steps(connection, jobs[0]) == []


def _killed_around_the_commit(url: str, job: str, before: bool) -> None:
    """Work on the job; kill this process with the first result in its hands, or when the database has just taken it."""
    database = open_database(url)

    def dies(database, holder, batch, request=NO_CLAIM) -> list:
        if batch.finished and before:
            os.kill(os.getpid(), signal.SIGKILL)
        claimed = commit(database, holder, batch, request)
        if batch.finished:
            os.kill(os.getpid(), signal.SIGKILL)
        return claimed

    workers.writer.commit = dies
    run(database, job, Doing(_train, concurrency=1))


def _die_at_work(url: str, job: str, before: bool) -> None:
    """Let a process be killed at the commit, and its session be silent for long."""
    process = multiprocessing.get_context("spawn").Process(target=_killed_around_the_commit, args=(url, job, before))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    database = open_database(url)
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE heartbeat SET at = 0"))
    database.close()


async def _train(work: Work, journal) -> ItemResult:
    first = 2 * work.ordinal + 1
    models = (model(),) if work.ordinal == 2 else ()
    return ItemResult(output={}, training_steps=steps(first, first + 1), models=models)


@pytest.mark.parametrize("before", [True, False], ids=["before the commit", "after the commit"])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_kill_around_the_commit_leaves_every_step_once(kind, before, tmp_path, request):
    url = f"sqlite:///{tmp_path / 'lumos.db'}"
    if kind == "postgresql":
        url = Settings(database_url=request.getfixturevalue("postgres_url")).database
    database = open_database(url)
    upgrade(database)
    job = train_job(database)
    deaths = 0
    while state(database, job) != "done":
        if before and deaths:  # nothing was accepted: a process that lives does the work again
            run(database, job, Doing(_train, concurrency=1))
        else:
            _die_at_work(url, job, before)
            deaths += 1
            kill(database, holder(database, job))
            assert counts(database) == ([0, 0] if before else [2 * deaths, deaths == 3])
        finish_if_idle(database, job)
    assert deaths == (1 if before else 3)
    with database.engine.connect() as connection:
        found = [(row["item"], row["step"]) for row in list_steps(connection, job)]
    assert found == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)] and counts(database) == [6, 1]
    database.close()


def test_a_database_of_the_revision_before_opens_with_its_rows_and_goes_back(database):
    job = train_job(database)
    who = holder(database, job)
    (item,) = claim(database, who, 1)
    commit(database, who, done(item))

    def rows() -> list[tuple]:
        with database.engine.connect() as connection:
            query = "SELECT j.id, i.ordinal, i.state FROM job j JOIN item i ON i.job = j.id ORDER BY i.ordinal"
            return [tuple(row) for row in connection.execute(text(query))]

    before = rows()
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE job SET state = 'failed', waiting = 'no such GPU'"))
    downgrade(database, "0010")
    with database.engine.connect() as connection:  # as the columns of today are not those of then
        found = connection.execute(text("SELECT state FROM job")).scalar_one()
    assert found == "paused", "revision 0010 knows no other state that waits for a person"
    assert rows() == before
    upgrade(database)
    assert rows() == before and counts(database) == [0, 0]
    (second,) = claim(database, who, 1)
    commit(database, who, done(second, training_steps=steps(1, 1), models=(model(),)))
    assert counts(database) == [1, 1]
