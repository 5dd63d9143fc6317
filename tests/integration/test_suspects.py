"""Which items a process may work on side by side, and what becomes of those it holds. On SQLite and PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from db.engine.connection import now
from db.engine.lease import Lease, SilenceWatch
from db.engine.rows.steps import NewAttempt
from db.models import Attempt, CompletionRow, EpisodeRow, Heartbeat, Item, JobRow, WorkerSessionRow
from db.queries.jobs import get_job
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit, end_refused, release_strays
from db.queue.fence import Fenced, beat, end_session, reap
from db.queue.job_changes import cancel, finish_if_idle, pause
from db.queue.quarantine import AT_ONCE, DEATHS
from db.queue.schedule import begin_work, runnable_jobs
from lumos_queue.commands import Ask, Step
from lumos_queue.records import Completion, FinishReason
from tests.claims import claim, finish, holder, new_job
from tests.integration.test_claims import record
from tests.integration.test_deaths import items_of, kill, time_goes_by


def wish(database, who, *arguments, **options) -> list[tuple[int, int]]:
    """(ordinal, batch) of what the holder gets for such a wish."""
    return [
        (item.ordinal, item.batch) for item in commit(database, who, Batch({}), ClaimRequest(*arguments, **options))
    ]


def suspects(database, items: int, held: int) -> str:
    """A job of so many items, of which a process that died held so many."""
    job = new_job(database, tasks=items)
    dead = holder(database, job)
    claim(database, dead, held)
    kill(database, dead)
    return job


def back_off(database, ordinals, seconds: float) -> None:
    with database.writer.begin() as connection:
        chosen = update(Item).where(Item.ordinal.in_(ordinals))
        connection.execute(chosen.values(not_before_at=now() + seconds if seconds else 0.0))


def test_who_works_on_fresh_items_gets_no_suspects_when_those_run_out(database):
    job = suspects(database, 8, 6)  # in threes
    who = holder(database, job)
    assert wish(database, who, 2) == [(6, 0), (7, 0)]
    for busy in (1, 2):  # a batch of three has room for as many beside so few
        assert wish(database, who, 5, busy=busy) == []
    assert wish(database, who, 5, busy=2, after=7) == []


def test_who_works_on_suspects_gets_no_fresh_items_beside_them(database):
    job = suspects(database, 9, 6)
    back_off(database, (6, 7, 8), 100)
    who = holder(database, job)
    assert wish(database, who, 2) == [(0, 3), (1, 3)]
    back_off(database, (6, 7, 8), 0)
    assert wish(database, who, 5, busy=2, suspects=True) == [(2, 3)]
    assert wish(database, who, 5, busy=3, suspects=True) == []


def test_an_idle_process_gets_fresh_items_though_suspects_are_owed(database):
    job = suspects(database, 8, 6)
    assert wish(database, holder(database, job), 1) == [(6, 0)]
    assert wish(database, holder(database, job), 5) == [(7, 0)]
    assert wish(database, holder(database, job), 5) == [(0, 3), (1, 3), (2, 3)]


def test_the_largest_batch_of_those_due_comes_first(database):
    job = suspects(database, 7, 6)
    one = holder(database, job)
    first = claim(database, one, 1)
    commit(database, one, Batch({item.id: item.claim for item in first}, finished=[finish(item) for item in first]))
    claim(database, one, 2)
    kill(database, one)  # 0 and 1 are now suspects that run alone, 2 to 5 may run in threes
    assert {ordinal: batch for ordinal, (_, batch, _) in items_of(database, job).items()} == {
        0: 1,
        1: 1,
        2: 3,
        3: 3,
        4: 3,
        5: 3,
        6: 0,
    }
    back_off(database, (2, 3, 4, 5), 100)
    assert wish(database, holder(database, job), 5) == [(0, 1)], "what is not due keeps nobody waiting"
    back_off(database, (2, 3, 4, 5), 0)
    assert wish(database, holder(database, job), 5) == [(2, 3), (3, 3), (4, 3)]


def test_items_come_in_the_order_of_the_job_whatever_order_they_were_stored_in(database):
    job = new_job(database, tasks=6)
    with database.writer.begin() as connection:
        keys = list(connection.execute(select(Item.id).where(Item.job == job).order_by(Item.ordinal)).scalars())
        for ordinal, key in enumerate(reversed(keys)):
            connection.execute(update(Item).where(Item.id == key).values(ordinal=100 + ordinal))
    assert [item.ordinal for item in claim(database, holder(database, job), 4)] == [100, 101, 102, 103]


def test_a_session_is_declared_dead_once(database):
    job = new_job(database, tasks=1)
    dead, who = holder(database, job), holder(database, job)
    claim(database, dead)
    kill(database, dead)
    assert reap(database, who.session, SilenceWatch(Lease(15))) == []
    with database.engine.connect() as connection:
        ended = select(WorkerSessionRow.ended_by).where(WorkerSessionRow.id == dead.session)
        assert connection.execute(ended).scalar_one() == f"session {dead.session}"  # as `kill` has it
    assert items_of(database, job) == {0: ("owed", 1, 1)}


def test_one_heartbeat_is_ones_own(database):
    job = new_job(database, tasks=1)
    silent, who = holder(database, job), holder(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).values(at=now() - 60))
    beat(database, who.session, [], {})
    assert reap(database, who.session, SilenceWatch(Lease(15))) == [silent.session]


def test_a_session_that_there_is_not_may_write_nothing(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    end_session(database, who.session)
    for write in (
        lambda: commit(database, who, Batch({item.id: item.claim}, finished=[finish(item)])),
        lambda: release_strays(database, who, set()),
        lambda: end_refused(database, who, item.id, item.claim, "no"),
    ):
        with pytest.raises(Fenced):
            write()
    with pytest.raises(Fenced):
        claim(database, type(who)(10_000, "1", who.job))
    assert items_of(database, job) == {0: ("owed", 0, 0)}


def test_strays_are_those_of_one_job(database):
    one, two = new_job(database, tasks=2), new_job(database, tasks=2, digest="cd" * 32)
    who = holder(database, one)
    with database.engine.connect() as connection:
        also = type(who)(who.session, "1", get_job(connection, two))
    claim(database, who, 2)
    claim(database, also, 2)
    release_strays(database, who, set())
    assert {state for state, _, _ in items_of(database, one).values()} == {"owed"}
    assert {state for state, _, _ in items_of(database, two).values()} == {"claimed"}


def asked(prompt: int, reply: str = "r", finish_reason: str = "stop") -> Completion:
    return Completion(reply, finish_reason, prompt, 1)


def test_an_item_whose_rows_are_refused_ends_with_the_counts_of_its_newest_attempt(database):
    job = new_job(database, tasks=2)
    who = holder(database, job)
    item, other = claim(database, who)
    old, _ = record(item, Step(0, 0, Ask("planner", "a"), asked(100)))
    given, called = asked(7, finish_reason=FinishReason.GIVEN), asked(20)
    steps = Step(0, 0, Ask("planner", "b"), given), Step(1, 0, Ask("planner", "c"), called)
    new, _ = record(item, *steps, attempt=2)
    for rows, texts in (old, new):
        commit(database, who, Batch({item.id: item.claim}, rows, texts))
    attempt = {NewAttempt: [NewAttempt(item.id, 2, "2")]}
    commit(database, who, Batch({item.id: item.claim}, attempt))
    end_refused(database, who, other.id, other.claim + 1, "not mine")
    end_refused(database, who, item.id, item.claim, "no such letter")
    with database.engine.connect() as connection:
        row = connection.execute(select(EpisodeRow.__table__).where(EpisodeRow.id == item.id)).one()
        untouched = connection.execute(select(EpisodeRow.ending).where(EpisodeRow.id == other.id)).scalar_one()
    assert (row.ending, row.message, row.attempt) == ("infra_error", "no such letter", 2)
    assert (row.calls, row.prompt_tokens, row.completion_tokens) == (1, 27, 2), "of the calls on record, given ones no"
    assert untouched == ""
    assert items_of(database, job) == {0: ("done", 0, 0), 1: ("claimed", 0, 0)}


def test_what_others_hold_by_now_gets_no_attempt(database):
    job = new_job(database, tasks=1)
    who, other = holder(database, job), holder(database, job)
    (item,) = claim(database, who)
    commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
    claim(database, other)
    commit(database, who, Batch({item.id: item.claim}, {NewAttempt: [NewAttempt(item.id, 2, "2")]}))
    with database.engine.connect() as connection:
        assert connection.execute(select(Attempt.number)).scalars().all() == [1]


def test_a_batch_in_parts_is_the_batch(database):
    job = new_job(database, tasks=4)
    who = holder(database, job)
    items = claim(database, who)
    claims = {item.id: item.claim for item in items}
    rows, texts = record(items[0], Step(0, 0, Ask("planner", "x" * 5000), asked(1)))[0]
    whole = Batch(claims, rows, texts, [finish(items[1])], [ReturnedItem(items[2].id, "503", 60.0, failed=True)])
    assert whole.items() == [item.id for item in items[:3]]
    for item in items:
        commit(database, who, whole.part({item.id}))
    states = items_of(database, job)
    assert [states[number][0] for number in range(4)] == ["claimed", "done", "owed", "claimed"]
    with database.engine.connect() as connection:
        assert connection.execute(select(CompletionRow.episode)).scalars().all() == [items[0].id]
        assert connection.execute(select(Item.failures).where(Item.id == items[2].id)).scalar_one() == 1


def test_what_was_given_back_to_wait_is_not_due_though_nothing_failed(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id, wait_seconds=60.0)]))
    assert claim(database, who) == []
    with database.engine.connect() as connection:
        assert tuple(connection.execute(select(Item.failures, Item.problem)).one()) == (0, "")


def test_the_output_of_an_item_is_the_one_that_was_accepted_first(database):
    job = new_job(database, tasks=0, kind="train", windows=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    for loss in (1, 2):
        commit(database, who, Batch({item.id: item.claim}, finished=[FinishedItem(item.id, output={"loss": loss})]))
    with database.engine.connect() as connection:
        assert connection.execute(select(Item.output)).scalar_one() == {"loss": 1}


@pytest.mark.parametrize("change", [cancel, pause])
def test_a_job_that_is_not_open_stays_as_it_is_when_an_item_keeps_killing(database, change):
    job = new_job(database, tasks=0, kind="train", windows=1, ordered=True)
    for deaths in range(1, DEATHS + 1):
        who = holder(database, job)
        assert len(claim(database, who)) == 1
        if deaths == DEATHS:
            change(database, job)
        kill(database, who)
        time_goes_by(database)
        with database.engine.connect() as connection:
            row = get_job(connection, job)
        if deaths > AT_ONCE and deaths < DEATHS:
            assert row.state == "queued" and f"{deaths} processes died" in row.waiting
    expected = {cancel: ("cancelling", ""), pause: ("paused", "resumed by a person")}[change]
    assert row.state == expected[0]
    if change is pause:
        assert row.waiting == expected[1]
    else:
        assert finish_if_idle(database, job) == "cancelled"


def test_an_ordered_job_waits_for_its_next_item_whatever_comes_after(database):
    job = new_job(database, tasks=0, kind="train", ordered=True, windows=3)

    def waiting() -> str:
        with database.engine.connect() as connection:
            return get_job(connection, job).waiting

    for _ in range(AT_ONCE + 1):
        assert waiting() == ""
        who = holder(database, job)
        assert len(claim(database, who)) == 1
        kill(database, who)
    assert waiting().startswith("item 0: 3 processes died") and runnable_jobs(database, ["llm"]) == []
    time_goes_by(database)
    who = holder(database, job)
    items = claim(database, who)
    begin_work(database, job, ())
    commit(database, who, Batch({items[0].id: items[0].claim}, finished=[FinishedItem(items[0].id)]))
    finish_if_idle(database, job)
    assert waiting() == "" and runnable_jobs(database, ["llm"]) == [job]


def test_a_paused_job_says_that_it_was_paused_whatever_its_items_wait_for(database):
    job = new_job(database, tasks=1)
    for deaths in range(1, AT_ONCE + 2):
        who = holder(database, job)
        assert len(claim(database, who)) == 1
        if deaths > AT_ONCE:
            pause(database, job)
        kill(database, who)
    with database.engine.connect() as connection:
        assert get_job(connection, job).waiting == "resumed by a person"


def test_while_an_item_is_being_worked_on_the_job_waits_for_nothing(database):
    job = new_job(database, tasks=2)
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.ordinal == 0).values(deaths=3, not_before_at=now() + 100))
    who = holder(database, job)
    assert [item.ordinal for item in claim(database, who)] == [1]
    finish_if_idle(database, job)
    with database.engine.connect() as connection:
        assert get_job(connection, job).waiting == ""
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.ordinal == 0).values(deaths=AT_ONCE))
        connection.execute(update(Item).where(Item.ordinal == 1).values(state="done"))
        connection.execute(update(JobRow).values(waiting=""))
    finish_if_idle(database, job)
    with database.engine.connect() as connection:
        assert get_job(connection, job).waiting == "", "an item that waits for another reason is not spoken of"
