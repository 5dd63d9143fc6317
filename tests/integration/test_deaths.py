"""Suspects, halving, quarantine; shares of a cap; a job that is paused or put off. On SQLite and PostgreSQL."""

from __future__ import annotations

import random
import threading
import time

import pytest
from sqlalchemy import select, update

import db.queue.quarantine
from db.engine.connection import now
from db.engine.lease import Lease, SilenceWatch
from db.models import EndpointShare, Heartbeat, Item, JobRow
from db.queries.jobs import get_job
from db.queue.batch import Batch, ReturnedItem
from db.queue.claims import ClaimRequest, LeaseHolder, claim_items
from db.queue.commit import commit
from db.queue.fence import Fenced, beat, end_session, hold_fence, reap
from db.queue.figures import progress
from db.queue.job_changes import cancel, finish_if_idle, pause, remove, resume
from db.queue.quarantine import AT_ONCE, DEATHS, WAITS
from db.queue.schedule import back_off, begin_work, reset_backoff, runnable_jobs
from db.queue.shares import fair_shares, list_caps, set_cap
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from workers.session import WorkerSession


def kill(database, who) -> None:
    """Let a session fall silent and be found so by another."""
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == who.session).values(at=now() - 100))
    reap(database, who.session, SilenceWatch(Lease(15)))


def items_of(database, job: str) -> dict[int, tuple[str, int, int]]:
    """Ordinal to (state, batch, deaths)."""
    with database.engine.connect() as connection:
        rows = connection.execute(select(Item.ordinal, Item.state, Item.batch, Item.deaths).where(Item.job == job))
        return {row.ordinal: (row.state, row.batch, row.deaths) for row in rows}


def done(items) -> Batch:
    return Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items])


def test_what_a_dead_process_held_becomes_suspect_and_is_not_charged(database):
    job = new_job(database, tasks=8)
    who = holder(database, job)
    assert len(claim(database, who, 5)) == 5
    kill(database, who)
    assert items_of(database, job) == {n: ("owed", 3 if n < 5 else 0, 0) for n in range(8)}


def test_a_process_that_leaves_in_good_order_makes_no_suspects(database):
    job = new_job(database, tasks=3)
    who = holder(database, job)
    claim(database, who, 3)
    end_session(database, who.session)
    assert set(items_of(database, job).values()) == {("owed", 0, 0)}


def test_a_process_that_lost_its_lease_ends_its_session_instead_of_beating_on(database):
    job = new_job(database, tasks=3)
    settings = Settings(lease_seconds=1.5)
    session = WorkerSession(database, settings, "1")
    try:
        with database.engine.connect() as connection:
            who = LeaseHolder(session.id, "1", get_job(connection, job))
        claim(database, who, 3)
        session.declare_lost()
        until = time.monotonic() + 60
        while set(items_of(database, job).values()) != {("owed", 0, 0)}:
            assert time.monotonic() < until, items_of(database, job)
            time.sleep(0.05)
    finally:
        session.close()


def test_suspects_run_last_and_only_beside_as_many_as_their_batch_allows(database):
    job = new_job(database, tasks=9)
    dead = holder(database, job)
    claim(database, dead, 6)
    kill(database, dead)  # six suspects, in threes
    who = holder(database, job)
    normal = claim(database, who, 2)
    assert [item.batch for item in normal] == [0, 0], "others come first"
    last = commit(database, who, Batch({}), ClaimRequest(5, busy=2))
    assert [item.batch for item in last] == [0], "a suspect never runs beside others"
    suspects = commit(database, who, done([*normal, *last]), ClaimRequest(5))
    assert [(item.ordinal, item.batch) for item in suspects] == [(0, 3), (1, 3), (2, 3)]
    assert commit(database, who, Batch({}), ClaimRequest(5, busy=3, suspects=True)) == []
    more = commit(database, who, done(suspects[:1]), ClaimRequest(5, busy=2, suspects=True))
    assert [item.ordinal for item in more] == [3]


def test_a_claim_looks_first_where_the_last_one_ended_and_then_from_the_beginning(database):
    job = new_job(database, tasks=6)
    who = holder(database, job)
    assert [item.ordinal for item in commit(database, who, Batch({}), ClaimRequest(2, after=2))] == [3, 4]
    assert [item.ordinal for item in commit(database, who, Batch({}), ClaimRequest(2, busy=2, after=4))] == [5]
    assert [item.ordinal for item in commit(database, who, Batch({}), ClaimRequest(2, busy=3, after=5))] == [0, 1]


def test_a_suspect_that_was_given_back_stays_one(database):
    job = new_job(database, tasks=2)
    dead = holder(database, job)
    claim(database, dead, 2)
    kill(database, dead)
    who = holder(database, job)
    (item,) = claim(database, who, 2)
    commit(database, who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
    assert items_of(database, job)[0] == ("owed", 1, 0)


def test_leaving_waits_for_a_commit_under_way_and_gives_back_what_it_claimed(database):
    job = new_job(database, tasks=3)
    who = holder(database, job)
    with database.writer.begin() as connection:
        hold_fence(connection, who.session)
        assert len(claim_items(connection, who, ClaimRequest(3))) == 3
        leaving = threading.Thread(target=end_session, args=(database, who.session))
        leaving.start()
        time.sleep(0.3)
    leaving.join()
    assert set(items_of(database, job).values()) == {("owed", 0, 0)}
    with pytest.raises(Fenced):
        claim(database, who)


@pytest.fixture
def no_waits(monkeypatch):
    """An item that has been alone with many deaths is tried again at once."""
    monkeypatch.setattr(db.queue.quarantine, "WAITS", (0.0,) * len(WAITS))


@pytest.mark.parametrize(
    "poison", [pytest.param(0, marks=pytest.mark.long), 37, pytest.param(199, marks=pytest.mark.long)]
)
def test_exactly_the_poisonous_item_is_quarantined(database, poison, no_waits):
    """Every process that holds the item dies; all others get their items done."""
    job = new_job(database, tasks=200)
    deaths = 0
    while runnable_jobs(database, ["llm"]):
        who = holder(database, job)
        while items := claim(database, who, 64):
            if poison in [item.ordinal for item in items]:
                kill(database, who)
                deaths += 1
                break
            commit(database, who, done(items))
        assert deaths < 30
    states = items_of(database, job)
    assert states.pop(poison) == ("quarantined", 1, DEATHS)
    assert {state for state, _, _ in states.values()} == {"done"}
    assert deaths <= 7 + DEATHS  # 64 is halved seven times until the item is alone
    assert finish_if_idle(database, job) == "done"


def test_the_last_item_of_a_job_survives_three_kills_from_outside(database):
    """After the third, fourth and fifth death alone it waits for 1, 5 and 15 minutes; the sixth is the last."""
    job = new_job(database, tasks=1)
    for deaths, wait in enumerate((0, 0, 60, 300, 900), start=1):
        who = holder(database, job)
        assert len(claim(database, who)) == 1
        kill(database, who)
        with database.engine.connect() as connection:
            item = connection.execute(select(Item.state, Item.deaths, (Item.not_before_at - now()).label("wait"))).one()
            waiting = get_job(connection, job).waiting
        assert (item.state, item.deaths) == ("owed", deaths)
        if not wait:
            assert item.wait <= 0 and waiting == "" and runnable_jobs(database, ["llm"]) == [job]
            continue
        assert wait - 5 < item.wait <= wait and runnable_jobs(database, ["llm"]) == []
        assert waiting.startswith(f"item 0: {deaths} processes died while this was all they worked on; it is tried")
        assert waiting.endswith(" UTC (quarantined after 6)")
        assert finish_if_idle(database, job) != "done"
        time_goes_by(database)
    who = holder(database, job)
    claim(database, who)
    kill(database, who)
    assert items_of(database, job) == {0: ("quarantined", 1, 6)} and finish_if_idle(database, job) == "done"
    assert resume(database, job) == "queued" and items_of(database, job) == {0: ("owed", 1, 0)}
    assert runnable_jobs(database, ["llm"]) == [job]


def test_while_other_items_are_owed_the_job_does_not_wait_for_the_one_that_keeps_killing(database):
    job = new_job(database, tasks=2)
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.ordinal == 1).values(not_before_at=now() + 800))
    for _ in range(AT_ONCE + 1):
        who = holder(database, job)
        claim(database, who)
        kill(database, who)
    with database.writer.begin() as connection:
        assert "item 0: 3 processes died" in get_job(connection, job).waiting
        connection.execute(update(Item).where(Item.ordinal == 1).values(not_before_at=0.0))
        connection.execute(update(JobRow).values(waiting=""))
    who = holder(database, job)
    (item,) = claim(database, who)
    assert item.ordinal == 1
    finish_if_idle(database, job)
    with database.engine.connect() as connection:
        assert get_job(connection, job).waiting == ""
    commit(database, who, done([item]))
    finish_if_idle(database, job)
    with database.engine.connect() as connection:
        assert "item 0: 3 processes died" in get_job(connection, job).waiting


def time_goes_by(database) -> None:
    with database.writer.begin() as connection:
        connection.execute(update(Item).values(not_before_at=0.0))


def test_random_kills_quarantine_nobody(database):
    """Twenty kills at random instants of a job of 150 items."""
    pick, job = random.Random(5), new_job(database, tasks=150)
    kills, running, who = 0, [], holder(database, job)
    while True:
        taken = commit(
            database,
            who,
            done(running[:8]),
            ClaimRequest(16 - len(running[8:]), len(running[8:]), any(item.batch for item in running[8:])),
        )
        running = running[8:] + taken
        if not running and not runnable_jobs(database, ["llm"]):
            break
        if kills < 20 and pick.random() < 0.5:
            kills += 1
            kill(database, who)
            running, who = [], holder(database, job)
    assert kills == 20
    with database.engine.connect() as connection:
        assert progress(connection, job) == {"done": 150}


def test_an_ordered_job_is_paused_when_its_next_item_is_quarantined(database, no_waits):
    job = new_job(database, tasks=0, kind="train", ordered=True, windows=3)
    for _ in range(DEATHS):
        who = holder(database, job)
        assert len(claim(database, who)) == 1
        kill(database, who)
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    assert row.state == "paused" and "lumos resume" in row.waiting
    assert resume(database, job) == "queued"
    assert items_of(database, job)[0] == ("owed", 1, 0)
    assert len(claim(database, holder(database, job))) == 1


def test_a_paused_job_is_left_alone_until_it_is_resumed(database):
    job = new_job(database, tasks=2)
    who = holder(database, job)
    item, _ = claim(database, who, 2)
    assert pause(database, job) == "paused"
    assert runnable_jobs(database, ["llm"]) == []
    assert beat(database, who.session, [job], {}).states == {job: "paused"}
    commit(database, who, Batch({item.id: item.claim}, finished=[finish(item)]))
    end_session(database, who.session)
    assert finish_if_idle(database, job) == "paused"
    assert resume(database, job) == "queued"
    assert runnable_jobs(database, ["llm"]) == [job]


def test_a_job_paused_after_its_last_item_is_done(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    commit(database, who, done(claim(database, who)))
    assert pause(database, job) == "done"


def test_a_cancelled_job_is_not_paused(database):
    job = new_job(database, tasks=1)
    assert cancel(database, job) == "cancelled"
    assert pause(database, job) == "cancelled"


def test_a_job_is_put_off_for_longer_each_time_until_it_gets_on(database):
    job = new_job(database)

    def wait() -> float:
        with database.engine.connect() as connection:
            return connection.execute(select(JobRow.not_before_at - now()).where(JobRow.id == job)).scalar_one()

    def wait_is_over() -> None:
        with database.writer.begin() as connection:
            connection.execute(update(JobRow).values(not_before_at=0.0))

    for expected in (5, 10, 20, 40, 60, 60):
        for _ in range(3):  # several processes meet the same outage
            back_off(database, job, "endpoint: down", 5.0)
            assert expected - 2 < wait() <= expected
        wait_is_over()
    reset_backoff(database, job)
    back_off(database, job, "endpoint: down", 5.0)
    assert 3 < wait() <= 5


URL = "tgi://a:1"


def lease(database, who, in_flight: int, demand: int) -> int | None:
    return beat(database, who.session, [], {URL: Traffic(in_flight, demand - in_flight)}).shares[URL]


def test_without_a_cap_there_is_no_share(database):
    who = holder(database, new_job(database))
    assert lease(database, who, 0, 64) is None


def test_a_cap_is_shared_and_never_exceeded_while_shares_move(database):
    job = new_job(database)
    set_cap(database, URL, 10)
    first, second = holder(database, job), holder(database, job)
    assert lease(database, first, 0, 64) == 10
    assert lease(database, second, 0, 64) == 0, "nothing is free yet"
    assert lease(database, first, 3, 64) == 5
    assert lease(database, second, 0, 64) == 0, "the first one may have filled its old share before it heard of this"
    assert lease(database, first, 6, 64) == 5
    assert lease(database, second, 0, 64) == 4, "one request of the first one has not ended"
    assert lease(database, first, 5, 64) == 5
    assert lease(database, second, 4, 64) == 5
    with database.engine.connect() as connection:
        assert list_caps(connection) == [(URL, 10, 10, 2, False)]


def test_who_asks_for_less_leaves_the_rest_to_others(database):
    job = new_job(database)
    set_cap(database, URL, 12)
    first, second = holder(database, job), holder(database, job)
    lease(database, first, 0, 2)
    lease(database, second, 0, 64)
    for _ in range(2):
        assert lease(database, first, 2, 2) == 2
    assert lease(database, second, 0, 64) == 10


def test_the_share_of_the_dead_and_of_those_who_left_is_free_again(database):
    job = new_job(database)
    set_cap(database, URL, 10)
    dead, left, who = (holder(database, job) for _ in range(3))
    lease(database, dead, 0, 64)
    assert lease(database, who, 0, 64) == 0
    kill(database, dead)
    assert lease(database, left, 0, 64) == 5
    assert lease(database, who, 0, 64) == 5
    beat(database, left.session, [], {})
    assert lease(database, who, 5, 64) == 10
    end_session(database, who.session)
    with database.engine.connect() as connection:
        assert connection.execute(select(EndpointShare.session)).all() == []


def test_shares_are_fair_and_add_up_to_the_cap():
    assert fair_shares(10, {1: 64, 2: 64, 3: 64}) == {1: 3, 2: 3, 3: 4}
    assert fair_shares(10, {1: 1, 2: 64}) == {1: 1, 2: 9}
    assert fair_shares(10, {1: 1, 2: 1}) == {1: 5, 2: 5}
    assert sorted(fair_shares(2, {1: 9, 2: 9, 3: 9}).values()) == [0, 1, 1]
    pick = random.Random(1)
    for _ in range(200):
        demands = {n: pick.randint(0, 50) for n in range(pick.randint(1, 8))}
        cap = pick.randint(1, 100)
        shares = fair_shares(cap, demands)
        assert sum(shares.values()) == cap and min(shares.values()) >= 0
        if sum(demands.values()) <= cap:
            assert all(shares[n] >= demands[n] for n in demands)


def test_a_job_that_was_removed_is_nothing_to_settle_put_off_or_begin(database):
    job = new_job(database, tasks=2)
    who = holder(database, job)
    items = claim(database, who, 2)
    pause(database, job)
    remove(database, job)
    assert finish_if_idle(database, job) == "removed"
    back_off(database, job, "endpoint: down", 5.0)
    reset_backoff(database, job)
    begin_work(database, job, [("planner", "tgi://a:1", {})])
    assert beat(database, who.session, [job], {}).states == {job: "removed"}
    assert commit(database, who, done(items), ClaimRequest(5)) == []
    end_session(database, who.session)
    for change in (pause, cancel, resume, remove):
        with pytest.raises(SpecError, match="was removed meanwhile"):
            change(database, job)
