"""One winner for each item, no write without the fence, nothing accepted twice; the same on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from sqlalchemy import select, text, update

from db.engine.bulk import RowsDiffer
from db.engine.connection import now
from db.engine.lease import Lease, SilenceWatch
from db.engine.rows.episodes import NewScore
from db.engine.rows.steps import NewEpisodeArtifact
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.journal.step_records import pack_digest
from db.journal.text_blocks import text_digest
from db.kinds.totals import EpisodeTotals
from db.models import CompletionRow, EpisodeRow, Heartbeat, Item, JobRow
from db.queries.jobs import get_job
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit, release_strays
from db.queue.fence import Fenced, beat, end_session, reap
from db.queue.figures import progress
from db.queue.job_changes import cancel, finish_if_idle, remove, resume
from db.queue.schedule import find_idle_jobs, runnable_jobs
from lumos_queue.commands import KEPT_DIGITS, Ask, Do, Note, Step
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, Completion, Execution, Subgoal
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

HEADS = {"planner": "<|user|>\nPlan.\n"}


def completion(database, item: int) -> list[str]:
    with database.engine.connect() as connection:
        return list(connection.execute(select(CompletionRow.reply).where(CompletionRow.episode == item)).scalars())


def record(item, *steps: Step, attempt: int = 1) -> tuple[tuple[dict, dict], EpisodeJournal]:
    buffer = Buffer()
    journal = EpisodeJournal(item.id, attempt, buffer, HEADS)
    for step in steps:
        journal.record(step)
    return buffer.take(), journal


ASK = Step(0, 0, Ask("planner", HEADS["planner"] + "Task 1"), Completion("Subgoal 1: add.", "stop", 10, 4))


def test_an_item_is_claimed_by_one_worker_only(database):
    job = new_job(database, tasks=40)
    holders = [holder(database, job) for _ in range(4)]
    won: list[list[int]] = [[] for _ in holders]

    def race(index: int) -> None:
        while items := claim(database, holders[index], 3):
            won[index] += [item.id for item in items]

    threads = [threading.Thread(target=race, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = [item for items in won for item in items]
    assert len(everything) == len(set(everything)) == 40


def test_a_finished_episode_keeps_its_first_result(database):
    job = new_job(database)
    who = holder(database, job)
    first, *_ = claim(database, who)
    batch = Batch({first.id: first.claim}, finished=[finish(first, "7")])
    commit(database, who, batch)
    commit(database, who, batch)  # the same commit again, as after an interrupted one
    commit(database, who, Batch({first.id: first.claim}, finished=[finish(first, "8")]))
    with database.engine.connect() as connection:
        assert connection.execute(select(EpisodeRow.answer).where(EpisodeRow.id == first.id)).scalar_one() == "7"
        assert connection.execute(text("SELECT count(*) FROM score")).scalar_one() == 1


def test_steps_that_arrive_twice_are_stored_once_and_must_be_equal(database):
    job = new_job(database)
    who = holder(database, job)
    item, *_ = claim(database, who)
    rows, _ = record(item, ASK)
    commit(database, who, Batch({item.id: item.claim}, *rows))
    commit(database, who, Batch({item.id: item.claim}, *rows))
    assert completion(database, item.id) == ["Subgoal 1: add."]
    other, _ = record(item, Step(0, 0, ASK.command, Completion("Subgoal 1: subtract.", "stop")))
    with pytest.raises(RowsDiffer, match="completion"):
        commit(database, who, Batch({item.id: item.claim}, *other))
    assert completion(database, item.id) == ["Subgoal 1: add."]


def test_rows_of_a_type_that_no_commit_writes_are_refused(database):
    who = holder(database, new_job(database))
    item, *_ = claim(database, who)
    rows = {NewScore: [NewScore(item.id, "accuracy", "3", 1.0, 1, "")]}
    with pytest.raises(TypeError, match="a commit writes no NewScore"):
        commit(database, who, Batch({item.id: item.claim}, rows))


def test_a_worker_declared_dead_cannot_write_and_its_items_are_owed_again(database):
    job = new_job(database)
    dead, alive = holder(database, job), holder(database, job)
    item, *_ = claim(database, dead)
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == dead.session).values(at=now() - 60))
    assert reap(database, alive.session, SilenceWatch(Lease(15))) == [dead.session]
    rows, _ = record(item, ASK)
    with pytest.raises(Fenced):
        commit(database, dead, Batch({item.id: item.claim}, *rows, finished=[finish(item)]))
    with pytest.raises(Fenced):
        beat(database, dead.session, [], {})
    assert completion(database, item.id) == []
    again = claim(database, alive)
    assert again[0].id == item.id
    assert again[0].claim == 2
    with database.engine.connect() as connection:
        assert connection.execute(select(Item.batch).where(Item.id == item.id)).scalar_one() == 2


def test_a_live_worker_is_not_declared_dead(database):
    who = holder(database, new_job(database))
    beat(database, who.session, [], {})
    assert reap(database, who.session, SilenceWatch(Lease(15))) == []


def test_rows_of_an_item_that_others_hold_by_now_are_dropped(database):
    job = new_job(database)
    first, second = holder(database, job), holder(database, job)
    item, *_ = claim(database, first)
    commit(database, first, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
    taken = next(one for one in claim(database, second) if one.id == item.id)
    rows, _ = record(item, ASK)
    commit(database, first, Batch({item.id: item.claim}, *rows, finished=[finish(item)]))  # an old claim number
    assert completion(database, item.id) == []
    commit(database, second, Batch({taken.id: taken.claim}, *rows))
    assert completion(database, item.id) == ["Subgoal 1: add."]


def test_the_next_holder_gets_the_recorded_steps_with_their_prompts(database):
    job = new_job(database)
    first, second = holder(database, job), holder(database, job)
    item, *_ = claim(database, first)
    action = Action(("R1", "R2"), "Calculator", "1 + 1", "R1, R2 = Calculator(1 + 1)")
    done = Execution("ok", "2, 2", ({"kind": "number", "text": "2"}, {"kind": "number", "text": "2"}), "", 0.5)
    follow_up = Ask("planner", ASK.command.prompt + "Subgoal 1: add.</s>\nmore")
    steps = [
        ASK,
        Step(1, 0, Note(Subgoal(1, "Subgoal 1: add.")), None),
        Step(2, 0, Ask("grounder", "no head here"), Completion("R1, R2 = Calculator(1 + 1)", "stop", 3, 9, 0.25, 2, 1)),
        Step(3, 0, Do(action), done),
        Step(4, 0, follow_up, Completion("Yes, I will stop planning.", "stop")),
    ]
    rows, journal = record(item, *steps)
    commit(database, first, Batch({item.id: item.claim}, *rows))
    end_session(database, first.session)
    again = next(one for one in claim(database, second) if one.id == item.id)
    assert [(one.position, one.branch, one.command, one.result) for one in again.steps] == [
        (step.position, step.branch, step.command.digest[:KEPT_DIGITS], step.result) for step in steps
    ]
    asked = [one for one in again.steps if one.role]
    assert [one.prompt for one in asked] == [ASK.command.prompt, "no head here", follow_up.prompt]
    with database.engine.connect() as connection:
        stored = connection.execute(text("SELECT position, base, prefix, delta, prompt_digest FROM completion")).all()
    by_position = {row.position: row for row in stored}
    assert by_position[0].delta == "Task 1" and by_position[0].prefix
    assert by_position[4].base == 0 and by_position[4].delta == "Subgoal 1: add.</s>\nmore"
    assert by_position[4].prompt_digest == pack_digest(text_digest(follow_up.prompt))
    recalled = EpisodeJournal(item.id, 1, Buffer(), HEADS)
    for one in again.steps:
        recalled.recall(one)
    assert recalled.figures.totals == EpisodeTotals(3, 13, 13)
    assert journal.figures.totals.calls == 3


def test_ordered_items_are_claimed_one_after_the_other(database):
    job = new_job(database, tasks=0, kind="train", windows=3, ordered=True)
    one, two = holder(database, job), holder(database, job)
    (first,) = claim(database, one)
    assert first.ordinal == 0
    assert claim(database, two) == []
    (second,) = commit(
        database,
        one,
        Batch({first.id: first.claim}, finished=[FinishedItem(first.id, output={"loss": 1})]),
        ClaimRequest(5),
    )
    assert second.ordinal == 1


def test_items_claimed_by_an_interrupted_commit_are_given_back(database):
    job = new_job(database)
    who = holder(database, job)
    known, *lost = claim(database, who)
    release_strays(database, who, {known.id})
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"claimed": 1, "owed": len(lost)}


def test_a_failed_item_waits_before_it_is_due_again(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id, "503", 0.4)]))
    assert claim(database, who) == []
    time.sleep(0.5)
    (again,) = claim(database, who)
    assert again.claim == 2


def test_the_same_request_finds_the_same_job_unless_told_otherwise(database):
    job = new_job(database)
    assert new_job(database) == job
    assert new_job(database, again=True) != job
    assert new_job(database, digest="cd" * 32) != job


def test_cancelling_stops_what_is_owed_and_resuming_goes_on(database):
    job = new_job(database, tasks=3)
    who = holder(database, job)
    item, *_ = claim(database, who, 1)
    assert cancel(database, job) == "cancelling"
    assert claim(database, who) == []
    commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
    assert finish_if_idle(database, job) == "cancelled"
    assert resume(database, job) == "queued"
    assert len(claim(database, who)) == 3


def test_a_running_job_is_not_removed_and_a_removed_one_leaves_nothing(database):
    job = new_job(database)
    with pytest.raises(SpecError, match="cancel it first"):
        remove(database, job)
    who = holder(database, job)
    items = claim(database, who)
    rows, _ = record(items[0], ASK)
    claims = {item.id: item.claim for item in items}
    commit(database, who, Batch(claims, *rows, finished=[finish(item) for item in items]))
    assert finish_if_idle(database, job) == "done"
    remove(database, job)
    with database.engine.connect() as connection:
        for table in ("job", "item", "episode", "attempt", "completion", "score", "task", "dataset"):
            assert connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0, table


def test_a_job_is_found_by_a_beginning_that_is_its_alone(database):
    job = new_job(database)
    with database.engine.connect() as connection:
        assert get_job(connection, job[:6]).id == job
        for wrong in ("%", "_" * 8, "nonsense"):
            with pytest.raises(SpecError, match="No job has an id that starts with"):
                get_job(connection, wrong)


def test_beating_tells_the_states_of_the_jobs_worked_on(database):
    job = new_job(database)
    who = holder(database, job)
    claim(database, who)
    assert beat(database, who.session, [job], {}).states == {job: "queued"}
    cancel(database, job)
    assert beat(database, who.session, [job, "missing"], {}).states == {job: "cancelling", "missing": "removed"}


def test_a_cancelled_job_ends_though_its_holder_died_before_it_heard_of_it(database):
    job = new_job(database, tasks=3)
    dead, alive = holder(database, job), holder(database, job)
    claim(database, dead, 2)
    assert cancel(database, job) == "cancelling"
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == dead.session).values(at=now() - 60))
    reap(database, alive.session, SilenceWatch(Lease(15)))
    assert find_idle_jobs(database) == [job]
    assert finish_if_idle(database, job) == "cancelled"
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"cancelled": 3}


def test_resuming_while_a_holder_still_cancels_loses_nothing(database):
    job = new_job(database, tasks=3)
    who = holder(database, job)
    items = claim(database, who, 2)
    cancel(database, job)
    assert resume(database, job) == "queued"
    claims = {item.id: item.claim for item in items}
    commit(database, who, Batch(claims, given_back=[ReturnedItem(item.id) for item in items]))
    assert finish_if_idle(database, job) == "queued"
    assert len(claim(database, who)) == 3


def test_an_ordered_job_is_not_runnable_while_its_next_item_must_wait(database):
    job = new_job(database, tasks=0, kind="train", windows=3, ordered=True)
    assert runnable_jobs(database, ["llm"]) == [job]
    who = holder(database, job)
    (first,) = claim(database, who)
    assert runnable_jobs(database, ["llm"]) == []
    commit(database, who, Batch({first.id: first.claim}, finished=[FinishedItem(first.id, output={})]))
    assert runnable_jobs(database, ["llm"]) == [job]


def test_equally_urgent_jobs_take_turns(database):
    jobs = [new_job(database, digest=f"{number:064x}") for number in range(3)]
    turns, served = [], ""
    for _ in range(6):
        served = runnable_jobs(database, ["llm"], after=served)[0]
        turns.append(jobs.index(served))
    assert turns == [0, 1, 2, 0, 1, 2]
    assert runnable_jobs(database, ["llm"], beside=jobs[0]) == jobs[1:]
    assert runnable_jobs(database, ["cpu"]) == []


def test_what_a_dead_process_holds_is_found_by_a_dispatcher_with_nothing_else_to_do(database):
    job = new_job(database, tasks=0, kind="train", windows=1)
    dead = holder(database, job)
    claim(database, dead)
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == dead.session).values(at=now() - 60))
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="cancelling"))
    process = WorkerContext(Deployment(Settings(database_url=database.url, poll_seconds=0.1)))
    try:
        Dispatcher(process, ["llm"], only=job).run(lambda: False)
    finally:
        process.close()
    with database.engine.connect() as connection:
        assert get_job(connection, job).state == "cancelled"


def test_a_database_of_another_revision_is_refused_every_time(database):
    with database.writer.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    process = WorkerContext(Deployment(Settings(database_url=database.url)))
    for _ in range(2):
        with pytest.raises(SpecError, match="a newer lumos-queue made it"):
            process.database  # noqa: B018


def test_long_texts_are_stored_once_compressed_and_come_back_whole(database):
    page = "<html>" + "<p>Grüße \U0001f34e " * 5_000 + "</html>"
    ask = Ask("planner", HEADS["planner"] + "Look at this: " + page)
    done = Execution("ok", page, ({"text": page, "kind": "page"},), "", 0.1)
    steps = [
        Step(0, 0, ask, Completion("Subgoal 1: look.", "stop", waited=0.5, lost=1.5, queued=0.25)),
        Step(1, 0, Do(Action(("R1",), "Look", "page", "R1 = Look(page)")), done),
    ]
    job = new_job(database, tasks=2)
    who = holder(database, job)
    items = claim(database, who, 2)
    for item in items:
        rows, _ = record(item, *steps)
        commit(database, who, Batch({item.id: item.claim}, *rows, given_back=[ReturnedItem(item.id)]))
    for item in claim(database, holder(database, job), 2):
        assert [(step.command, step.result) for step in item.steps] == [
            (one.command.digest[:KEPT_DIGITS], one.result) for one in steps
        ]
        assert item.steps[0].prompt == ask.prompt
    with database.engine.connect() as connection:
        stored = connection.execute(text("SELECT count(*), sum(length(data)) FROM text_block")).one()
        assert stored[0] == 4, "head, prompt, result and outputs, for both episodes together"
        assert stored[1] < 3 * len(page) / 20
        short = connection.execute(
            text("SELECT sum(length(delta)), sum(length(result)) FROM completion, execution")
        ).one()
        assert tuple(short) == (0, 0)


def test_rows_enough_for_a_commit_end_the_waiting_for_more():
    async def body() -> None:
        buffer = Buffer(enough=2)
        started = time.monotonic()
        await buffer.gather(0.05)
        assert time.monotonic() - started >= 0.04
        gathering = asyncio.create_task(buffer.gather(60))
        await asyncio.sleep(0)
        for _ in range(2):
            buffer.add(NewEpisodeArtifact(1, ""))
        await asyncio.wait_for(gathering, 1)
        buffer.take()
        started = time.monotonic()
        await buffer.gather(0.05)
        assert time.monotonic() - started >= 0.04

    asyncio.run(body())


def test_a_full_buffer_makes_episodes_wait_until_it_is_emptied():
    async def body() -> None:
        buffer = Buffer(most=2)
        for _ in range(2):
            await asyncio.wait_for(buffer.wait_for_capacity(), 1)
            buffer.add(NewEpisodeArtifact(1, ""))
        waiting = [asyncio.create_task(buffer.wait_for_capacity()) for _ in range(3)]
        await asyncio.sleep(0.02)
        assert not any(task.done() for task in waiting)
        buffer.take()
        await asyncio.wait_for(asyncio.gather(*waiting), 1)

    asyncio.run(body())
