"""A message of a Celery task, in this process: its slice, what Flower shows, and when another message follows."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from sqlalchemy import update

import workers.tasks
from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import Item, JobRow
from db.queue.job_changes import cancel
from db.queue.schedule import back_off
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import DatabaseUnavailable, InfrastructureError, SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.claims import claim, fail, holder, new_job
from tests.stored_rows import state
from workers.context import WorkerContext
from workers.slice_failed import SliceFailed
from workers.slice_result import SliceResult
from workers.stop_signal import StopSignal
from workers.tasks import MAX_RESULT, serve_message


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """The context of a child of Celery; `refused` and `sent` have its refused messages and the messages it sends."""
    settings = Settings(home=tmp_path, broker_url="memory://", heartbeat_seconds=0.2)
    database = open_database(settings.database)
    upgrade(database)
    database.close()
    context = WorkerContext(Deployment(settings))
    refused: list[tuple] = []
    sent: list[tuple] = []
    counter = SimpleNamespace(add=lambda *arguments: refused.append(arguments))
    monkeypatch.setattr(workers.tasks, "current_context", lambda: context)
    monkeypatch.setattr(workers.tasks, "get_rejection_counter", lambda: counter)
    monkeypatch.setattr(workers.tasks, "notify_workers", lambda *arguments: sent.append(arguments))
    yield SimpleNamespace(context=context, database=context.database, settings=settings, refused=refused, sent=sent)
    context.close()


def script_slice(monkeypatch, worker, *, error: Exception | None = None, leaves: int = 0, **fields) -> list:
    """Replace the slice: it ends with this result or error, and leaves so many items; returns its arguments."""
    calls = []

    def run(context, job, policy):
        calls.append((context, job, policy))
        if error:
            raise error
        if not leaves:
            with worker.database.writer.begin() as connection:
                connection.execute(update(Item).where(Item.job == job).values(state="done"))
                connection.execute(update(JobRow).where(JobRow.id == job).values(state="done"))
        return SliceResult(**fields)

    monkeypatch.setattr(workers.tasks, "try_slice", run)
    return calls


def test_a_job_of_a_message_is_worked_on_to_its_end_and_the_result_names_it(worker):
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
    job, _ = submit(worker.database, worker.settings, Convert("wordmath", rows.digest, "dev", limit=3), rows)
    assert workers.tasks.convert(job) == "convert wordmath: 3 items finished; stopped: the job is done"
    assert state(worker.database, job) == "done" and (worker.refused, worker.sent) == ([], [])
    assert workers.tasks.convert(job) == "convert wordmath: nothing was due"


@pytest.mark.parametrize("kind", ["convert", "train", "infer", "evaluate"])
def test_each_task_serves_jobs_of_its_kind_and_refuses_others(worker, monkeypatch, kind):
    calls = script_slice(monkeypatch, worker)
    tasks = {"train": workers.tasks.train_shard} | {
        name: getattr(workers.tasks, name) for name in ("convert", "infer", "evaluate")
    }
    job = new_job(worker.database, kind=kind)
    for name, task in tasks.items():
        if name != kind:
            assert task(job) == f"refused: no {name} job has the id '{job}'"
            assert worker.refused.pop() == ("forged", f"no {name} job has the id '{job}'")
    assert calls == [] and worker.refused == []
    tasks[kind](job)
    assert [(context, identifier) for context, identifier, _ in calls] == [(worker.context, job)]
    assert tasks[kind].name == ("train_shard" if kind == "train" else kind)


def test_another_message_follows_while_items_are_due_and_goes_to_the_pool_of_the_job(worker, monkeypatch):
    job = new_job(worker.database, pool="gpu", kind="train")
    script_slice(monkeypatch, worker, leaves=1, finished=2, why="another job's turn")
    assert serve_message("train", job) == "train wordmath: 2 items finished; stopped: another job's turn"
    assert worker.sent == [(worker.settings, "train", job, 1, "gpu")]


def test_no_message_follows_when_nothing_is_due_or_after_an_internal_error(worker, monkeypatch):
    done, faulty = new_job(worker.database), new_job(worker.database, digest="cd" * 32)
    script_slice(monkeypatch, worker, finished=4)
    serve_message("evaluate", done)
    script_slice(monkeypatch, worker, leaves=4, failure="fault: ValueError: a bug.", fault=True)
    with pytest.raises(SliceFailed) as failure:
        serve_message("evaluate", faulty)
    assert str(failure.value) == "wordmath iterative: failed: fault: ValueError: a bug; 0 items finished"
    assert worker.sent == []


def test_a_slice_whose_items_have_all_failed_is_a_failure(worker, monkeypatch):
    job = new_job(worker.database)
    result = SliceResult()
    result.note_failure(1, "quota is used up")
    monkeypatch.setattr(workers.tasks, "try_slice", lambda *_: result)
    with pytest.raises(SliceFailed) as failure:
        serve_message("evaluate", job)
    assert str(failure.value) == "wordmath iterative: failed: 0 items finished, 1 failed: quota is used up"


@pytest.mark.parametrize(
    "error",
    [
        InfrastructureError("the database is away\nmore"),
        SpecError("the database is away\nmore"),
        DatabaseUnavailable("the database is away"),
    ],
)
def test_an_outage_leaves_the_job_to_the_dispatcher_in_one_line(worker, monkeypatch, caplog, error):
    job = new_job(worker.database)
    script_slice(monkeypatch, worker, error=error)
    with pytest.raises(SliceFailed) as failure:
        serve_message("evaluate", job)
    problem = "the database is away"
    assert str(failure.value) == f"job {job} left to the dispatcher: {problem}" and worker.sent == []
    assert [line.strip() for line in caplog.messages] == [f"job {job} left to the dispatcher: {problem}"]


def test_a_result_is_never_longer_than_celery_shows(worker, monkeypatch):
    job, other, failed = (new_job(worker.database, digest=f"{letter}b" * 32) for letter in "abc")
    script_slice(monkeypatch, worker, error=InfrastructureError("x" * 2000))
    with pytest.raises(SliceFailed) as failure:
        serve_message("evaluate", job)
    assert len(str(failure.value)) == MAX_RESULT < 1024
    script_slice(monkeypatch, worker, why="y" * 2000)
    assert len(serve_message("evaluate", other)) == MAX_RESULT
    with worker.database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == failed).values(state="failed", waiting="z" * 2000))
    with pytest.raises(SliceFailed) as failure:
        serve_message("evaluate", failed)
    assert len(str(failure.value)) == MAX_RESULT


def test_a_slice_of_a_message_is_bounded_and_looks_for_other_jobs_of_its_pool(worker, monkeypatch):
    job = new_job(worker.database)
    calls = script_slice(monkeypatch, worker)
    serve_message("evaluate", job)
    (_, _, policy) = calls[0]
    assert policy._is_bounded and not policy._alone and policy._pools == ["llm"] and policy._job == job
    assert policy() == StopSignal.CONTINUE
    monkeypatch.setattr(workers.tasks, "draining", lambda: True)
    assert policy() == StopSignal.LEAVE


def idle_result(worker, job: str) -> str:
    result = serve_message("evaluate", job)
    assert worker.sent == [] and worker.refused == []
    return result.removeprefix("wordmath iterative: ")


def test_a_message_about_a_job_without_due_items_begins_no_slice_and_says_why(worker, monkeypatch):
    calls = script_slice(monkeypatch, worker)
    waits, cancelled, failing = (new_job(worker.database, digest=f"{letter}b" * 32) for letter in "abc")
    back_off(worker.database, waits, "endpoint: down", 600.0)
    assert idle_result(worker, waits) == "nothing was done, it waits: endpoint: down"
    cancel(worker.database, cancelled)
    assert idle_result(worker, cancelled) == "nothing was due"
    who = holder(worker.database, failing)
    fail(worker.database, who, claim(worker.database, who), "the quota is used up", 600.0)
    text = idle_result(worker, failing)
    assert text.startswith("nothing was due: ") and "the quota is used up" in text
    assert calls == []


def test_a_message_about_a_failed_job_is_a_failure_with_its_reason(worker):
    job = new_job(worker.database)
    with worker.database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="failed", waiting="item 0: no file."))
    with pytest.raises(SliceFailed) as failure:
        serve_message("evaluate", job)
    assert str(failure.value) == "wordmath iterative: failed: job: item 0: no file; nothing was done"


def test_a_child_stops_when_its_parent_drains_or_has_ended(monkeypatch):
    monkeypatch.setattr(workers.tasks, "draining", lambda: False)
    monkeypatch.setattr(workers.tasks, "_parent", 0)
    assert workers.tasks._should_stop() is False, "no child of Celery"
    monkeypatch.setattr(workers.tasks, "_parent", os.getppid())
    assert workers.tasks._should_stop() is False
    monkeypatch.setattr(workers.tasks, "_parent", os.getppid() + 1)
    assert workers.tasks._should_stop() is True
    monkeypatch.setattr(workers.tasks, "_parent", os.getppid())
    monkeypatch.setattr(workers.tasks, "draining", lambda: True)
    assert workers.tasks._should_stop() is True
