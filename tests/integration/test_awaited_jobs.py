"""Jobs that wait for another one: which may be worked on, and what is said of them."""

from __future__ import annotations

from db.queries.jobs import get_job
from db.queue.batch import Batch
from db.queue.commit import commit
from db.queue.job_changes import cancel, finish_if_idle, pause, remove, resume
from db.queue.schedule import await_job, back_off, begin_work, find_awaited, list_awaited_jobs, runnable_jobs
from lumos_queue.cli import output
from lumos_queue.cli.live import Progress
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from tests.stored_rows import state

POOLS = ("cpu", "llm")
WHY = "the rollouts of step 1"


def jobs(database) -> tuple[str, str]:
    """A job that trains, and the evaluation of two tasks that it waits for."""
    mine = new_job(database, tasks=0, kind="train", pool="cpu", digest="cd" * 32, ordered=True, windows=2)
    other = new_job(database, tasks=2)
    assert runnable_jobs(database, POOLS) == [mine, other]
    found = await_job(database, mine, other, f"{WHY}: job {other}")
    assert found is not None and (found.id, found.kind, found.items, found.pool) == (other, "evaluate", 2, "llm")
    return mine, other


def row(database, job: str):
    with database.engine.connect() as connection:
        return get_job(connection, job)


def awaited(database, job: str):
    with database.engine.connect() as connection:
        return find_awaited(connection, get_job(connection, job))


def do_items(database, job: str, wanted: int) -> None:
    who = holder(database, job)
    items = claim(database, who, wanted)
    commit(database, who, Batch({one.id: one.claim for one in items}, finished=[finish(one) for one in items]))
    finish_if_idle(database, job)


def test_a_job_is_left_out_until_the_other_is_done(database):
    mine, other = jobs(database)
    assert runnable_jobs(database, POOLS) == [other] and list_awaited_jobs(database, mine) == [mine, other]
    assert awaited(database, mine).done == 0
    do_items(database, other, 1)
    assert runnable_jobs(database, POOLS) == [other] and awaited(database, mine).done == 1
    do_items(database, other, 1)
    assert runnable_jobs(database, POOLS) == [mine] and awaited(database, mine) is None
    assert begin_work(database, mine, ())
    assert (row(database, mine).awaits, row(database, mine).waiting) == (None, "")
    assert await_job(database, mine, other, WHY) is None, "what is done is not waited for"
    assert runnable_jobs(database, POOLS) == [mine]


def test_a_job_goes_on_when_the_other_is_stopped_or_removed(database):
    mine, other = jobs(database)
    pause(database, other)
    assert runnable_jobs(database, POOLS) == [mine] and list_awaited_jobs(database, mine) == [mine]
    resume(database, other)
    assert runnable_jobs(database, POOLS) == [other], "it waits until it has looked itself"
    cancel(database, other)
    remove(database, other)
    assert runnable_jobs(database, POOLS) == [mine] and awaited(database, mine) is None


def test_a_job_that_is_stopped_waits_for_nothing(database):
    mine, other = jobs(database)
    pause(database, mine)
    assert list_awaited_jobs(database, mine) == [] and runnable_jobs(database, POOLS) == [other]
    assert awaited(database, mine) is None and await_job(database, mine, other, WHY) is None
    resume(database, mine)
    assert row(database, mine).waiting == "" and list_awaited_jobs(database, mine) == [mine, other]
    cancel(database, mine)
    assert (state(database, mine), state(database, other)) == ("cancelled", "queued")


def test_the_latest_thing_that_a_job_waits_for_is_told(database):
    mine, _ = jobs(database)
    back_off(database, mine, "endpoint: nothing answers", 60.0)
    assert row(database, mine).waiting == "endpoint: nothing answers" and awaited(database, mine) is None


def test_a_job_that_is_resumed_after_the_other_is_not_held_up_by_it_later(database):
    mine, other = jobs(database)
    pause(database, mine)
    do_items(database, other, 2)
    resume(database, mine)
    assert begin_work(database, mine, ()) and row(database, mine).awaits is None


def test_the_progress_says_how_far_the_other_is_and_calls_it_no_outage(database, capsys, monkeypatch):
    mine, other = jobs(database)
    do_items(database, other, 1)
    monkeypatch.setattr(output, "as_json", False)  # as of a process that has printed nothing for programs
    with Progress(database, Settings(), mine) as shown:
        shown.show()
        assert capsys.readouterr().err.splitlines() == [f"{mine}  queued  0/2 items · {WHY}: job {other}, 1/2"]
        back_off(database, other, "endpoint: nothing answers", 60.0)
        shown.show()
    assert capsys.readouterr().err.splitlines() == [f"job {mine} waits: endpoint: nothing answers"]


def test_what_was_waited_for_is_no_outage_when_it_is_done_and_nothing_has_gone_on(database, capsys):
    mine, other = jobs(database)
    do_items(database, other, 2)
    assert row(database, mine).waiting == f"{WHY}: job {other}" and awaited(database, mine) is None
    with Progress(database, Settings(), mine) as shown:
        shown.show()
    assert "waits:" not in capsys.readouterr().err
