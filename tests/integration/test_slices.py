"""One slice of work and its commits: what is owed again and when, who runs beside whom, commits that were cut off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import insert, select, update

import workers.slice
import workers.writer
from db.engine.connection import now
from db.models import Attempt, CompletionRow, EpisodeRow, Item
from db.queries.jobs import get_job
from db.queue.batch import Batch, ReturnedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import Fenced
from db.queue.figures import progress
from db.queue.job_changes import cancel, pause
from lumos_queue.commands import KEPT_DIGITS, Ask, Step
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.episode import Diverged
from lumos_queue.errors import DatabaseUnavailable, EndpointDown, InfrastructureError, UnclearFailure
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.records import Completion, Outcome
from lumos_queue.settings import Settings
from tests.claims import claim, finish, holder, new_job
from tests.integration.test_deaths import items_of, kill
from workers.session import WorkerSession
from workers.slice import IDLE_SECONDS, Slice
from workers.stop_signal import StopSignal
from workers.writer import CommitWriter

SETTINGS = Settings(flush_seconds=0.02, concurrency=8)
CONTEXT = SimpleNamespace(traffic={})  #: of a job that asks no endpoint


@dataclass
class Doing:
    """A job whose items do what a function does."""

    do: Callable[[Work, Any], Awaitable[Any]]
    concurrency: int = 0
    ran: list[int] = field(default_factory=list)
    most: int = 0  #: items that ran side by side
    _running: int = 0

    def prompt_prefixes(self) -> dict[str, str]:
        return {}

    async def run(self, work: Work, journal: Any, context: Any) -> ItemResult:
        self.ran.append(work.ordinal)
        self._running += 1
        self.most = max(self.most, self._running)
        try:
            return await self.do(work, journal) or ItemResult(Outcome("7", "answered"))
        finally:
            self._running -= 1


@contextmanager
def present(database, job: str, **settings):
    session = WorkerSession(database, SETTINGS.model_copy(update=settings), "1")
    try:
        with database.engine.connect() as connection:
            yield session, get_job(connection, job)
    finally:
        session.close()


def run(database, job: str, doing: Doing, **options) -> Slice:
    """Run one slice until nothing is due."""
    with present(database, job) as (session, row):
        part = Slice(session, row, doing, CONTEXT, lambda: 0, **options)
        asyncio.run(part.run())
    return part


def items(database, *columns) -> list[tuple]:
    with database.engine.connect() as connection:
        return [tuple(row) for row in connection.execute(select(*columns).order_by(Item.ordinal))]


def test_an_item_that_failed_waits_longer_each_time_or_as_long_as_the_server_asks(database):
    job = new_job(database, tasks=4)
    with database.writer.begin() as connection:
        for ordinal, claims in ((1, 3), (2, 9)):
            connection.execute(update(Item).where(Item.ordinal == ordinal).values(claim=claims))
            connection.execute(_episode_of(connection, job, ordinal))

    async def fails(work: Work, journal: Any) -> None:
        raise InfrastructureError("said \0 so", 50.0 if work.ordinal == 3 else None)

    part = run(database, job, Doing(fails))
    assert part.result.finished == 0 and part.down is None
    found = items(database, Item.not_before_at - now(), Item.failures, Item.problem)
    assert [round(wait, -1) if wait > 10 else wait > 0 for wait, *_ in found] == [True, 20.0, 60.0, 50.0]
    assert found[0][0] <= 2.0 and found[1][0] <= 16.0
    assert {row[1:] for row in found} == {(0, "said � so")}


def test_a_slice_that_ends_gives_back_at_once_what_only_waits_for_a_slot(database):
    """One request of eight is in flight; it ends and is recorded, and the others cost nothing."""
    job = new_job(database, tasks=8)
    gate = AdmissionControl("tgi://a:1", 1)
    ending = asyncio.Event()

    async def asks(work: Work, journal: Any) -> None:
        await gate.enter()
        try:
            await ending.wait()  # as long as the server takes
        finally:
            gate.leave()

    def should_end() -> StopSignal:
        if not signals and gate.waiting == 7:
            signals.append(StopSignal.DRAIN)
        elif signals and not gate.waiting:
            ending.set()
        return signals[0] if signals else StopSignal.CONTINUE

    signals: list[StopSignal] = []
    doing = Doing(asks)
    with present(database, job) as (session, row):
        part = Slice(session, row, doing, SimpleNamespace(traffic={"tgi://a:1": gate}), should_end)
        asyncio.run(part.run())
    assert part.result.finished == 1 and len(doing.ran) == 8
    assert sorted(items(database, Item.state, Item.failures, Item.not_before_at)) == [
        ("done", 0, 0.0),
        *[("owed", 0, 0.0)] * 7,
    ]


def _episode_of(connection, job: str, ordinal: int):
    """An item that was claimed before has its episode."""
    item = connection.execute(select(Item.id, Item.task).where(Item.ordinal == ordinal)).one()
    connection.execute(
        insert(EpisodeRow).values(
            id=item.id,
            job=job,
            task=item.task,
            sample=0,
            formulation="iterative",
            agent="",
            origin="run",
            split="test",
            licence="MIT",
            attempt=1,
            ending="",
            message="",
            calls=0,
            prompt_tokens=0,
            completion_tokens=0,
            seconds=0.0,
            level="",
            started_at=0.0,
        )
    )
    return insert(Attempt).values(episode=item.id, number=1, code_version="1", started_at=0.0)


def test_suspects_run_beside_no_more_than_their_batch_allows_and_none_is_held_ahead(database):
    job = new_job(database, tasks=12)
    dead = holder(database, job)
    claim(database, dead, 6)
    kill(database, dead)  # in threes
    held: list[int] = []

    async def looks(work: Work, journal: Any) -> None:
        await asyncio.sleep(0.05)
        if work.ordinal < 6:
            with database.engine.connect() as connection:
                held.append(progress(connection, job).get("claimed", 0))

    doing = Doing(looks)
    done = 0
    while done < 12:  # a slice may end when the others are done: the next one finds the suspects
        part = run(database, job, doing)
        assert part.result.finished
        done += part.result.finished
    assert set(doing.ran[:6]) == set(range(6, 12)), "suspects come last"
    assert held and max(held) <= 3
    assert doing.most <= 6


def test_after_suspects_as_many_run_as_before(database):
    job = new_job(database, tasks=20)
    dead = holder(database, job)
    claim(database, dead, 2)
    kill(database, dead)  # each alone
    with database.writer.begin() as connection:
        connection.execute(update(Item).where(Item.ordinal >= 2).values(not_before_at=now() + 800))

    async def takes_time(work: Work, journal: Any) -> None:
        if work.ordinal == 1:  # from here on the others are due; nobody looks while a suspect runs
            with database.writer.begin() as connection:
                connection.execute(update(Item).values(not_before_at=0.0))
        await asyncio.sleep(2 * IDLE_SECONDS if work.ordinal < 2 else 0.2)

    doing, finished = Doing(takes_time), []
    while len(finished) < 20:
        before = len(finished)
        run(database, job, doing, on_finish=lambda: finished.append(1))
        assert len(finished) > before
    assert doing.ran[:2] == [0, 1] and doing.most == 8


def test_code_that_goes_another_way_begins_a_new_attempt_that_is_the_accepted_one(database):
    job = new_job(database, tasks=1)
    tried = []

    async def diverges(work: Work, journal: Any) -> None:
        tried.append(journal.attempt)
        if journal.attempt == 1:
            raise Diverged("the code changed")
        await journal.wait_for_capacity()
        journal.record(Step(0, 0, Ask("planner", "p"), Completion("r", "stop", 5, 3)))

    assert run(database, job, Doing(diverges)).result.finished == 1 and tried == [1, 2]
    with database.engine.connect() as connection:
        assert connection.execute(select(Attempt.number, Attempt.code_version)).all() == [(1, "1"), (2, "1")]
        row = connection.execute(select(EpisodeRow.attempt, EpisodeRow.calls, EpisodeRow.prompt_tokens)).one()
        assert tuple(row) == (2, 1, 5)


def test_one_item_that_nothing_tells_about_is_nobodys_outage_while_others_get_done(database):
    job = new_job(database, tasks=2)

    async def refused_first(work: Work, journal: Any) -> None:
        if work.ordinal == 0:
            raise UnclearFailure("host answered 400", 400)
        await asyncio.sleep(0.2)

    finished = []
    part = run(database, job, Doing(refused_first), on_finish=lambda: finished.append(1))
    assert (part.result.finished, part.down, len(finished)) == (1, None, 1)
    assert items(database, Item.state, Item.failures) == [("owed", 0), ("done", 0)]
    with database.writer.begin() as connection:
        connection.execute(update(Item).values(not_before_at=0.0))
    alone = run(database, job, Doing(refused_first))
    assert isinstance(alone.down, EndpointDown) and alone.down.status == 400


@pytest.mark.parametrize(("status", "waits"), [(0, False), (503, False), (429, False), (401, True), (404, True)])
def test_an_endpoint_that_is_down_charges_nobody_and_what_it_refused_waits(database, status, waits):
    job = new_job(database, tasks=1)

    async def down(work: Work, journal: Any) -> None:
        raise EndpointDown("host is down", status=status)

    part = run(database, job, Doing(down))
    assert part.down is not None and part.down.status == status
    ((state, failures, wait),) = items(database, Item.state, Item.failures, Item.not_before_at - now())
    assert (state, failures) == ("owed", 0) and (wait > 5) == waits


def test_a_fault_of_ours_ends_an_episode_and_gives_a_window_back(database):
    async def faulty(work: Work, journal: Any) -> None:
        raise ZeroDivisionError("a fault\0 of ours")

    told = f"ZeroDivisionError: a fault� of ours (test_slices.py, line {faulty.__code__.co_firstlineno + 1})"
    job = new_job(database, tasks=1)
    assert run(database, job, Doing(faulty)).result.finished == 1
    with database.engine.connect() as connection:
        row = connection.execute(select(EpisodeRow.ending, EpisodeRow.message)).one()
    assert tuple(row) == ("infra_error", told)
    window = new_job(database, tasks=0, kind="train", windows=1, digest="cd" * 32)
    assert run(database, window, Doing(faulty)).result.finished == 0
    with database.engine.connect() as connection:
        found = connection.execute(select(Item.state, Item.problem).where(Item.job == window)).one()
    assert tuple(found) == ("owed", told)


@pytest.mark.parametrize(("change", "state"), [(pause, "paused"), (cancel, "cancelling")])
def test_a_slice_stops_when_its_job_is_stopped_and_gives_back_what_runs_with_its_steps(database, change, state):
    job = new_job(database, tasks=2)
    step = Step(0, 0, Ask("planner", "p"), Completion("r", "stop", 5, 3))

    async def takes_long(work: Work, journal: Any) -> None:
        journal.record(step)
        if work.ordinal == 1:
            assert await asyncio.to_thread(change, database, job) == state
        await asyncio.sleep(60)

    with present(database, job, heartbeat_seconds=0.1) as (session, row):
        session.work_on(job)
        session.mark_loop_alive()
        part = Slice(session, row, Doing(takes_long), CONTEXT, lambda: 0)
        asyncio.run(asyncio.wait_for(part.run(), 8))
    assert part.result.finished == 0 and set(items(database, Item.state, Item.failures)) == {("owed", 0)}
    with database.engine.connect() as connection:
        assert connection.execute(select(CompletionRow.reply)).scalars().all() == ["r", "r"]


def test_an_item_goes_on_from_the_steps_that_are_stored_of_it(database):
    job = new_job(database, tasks=1)
    step = Step(0, 0, Ask("planner", "p"), Completion("r", "stop", 5, 3))
    found = []

    async def asks_once(work: Work, journal: Any) -> None:
        found.append(journal.find(0, 0))
        if not found[-1]:
            journal.record(step)
            raise InfrastructureError("503")

    assert run(database, job, Doing(asks_once)).result.finished == 0
    with database.writer.begin() as connection:
        connection.execute(update(Item).values(not_before_at=0.0))
    assert run(database, job, Doing(asks_once)).result.finished == 1
    assert found == [None, (step.command.digest[:KEPT_DIGITS], step.result)]
    with database.engine.connect() as connection:
        row = connection.execute(select(EpisodeRow.calls, EpisodeRow.prompt_tokens)).one()
        assert tuple(row) == (1, 5), "what an earlier holder asked counts"


def test_a_slice_that_fails_leaves_its_session_at_once(database):
    """It may hold what it does not know of; a session that beat on would hold it for ever."""
    job = new_job(database, tasks=2)

    async def takes_long(work: Work, journal: Any) -> None:
        await asyncio.sleep(60)

    def fails() -> int:
        raise ZeroDivisionError

    with present(database, job) as (session, row):
        with pytest.raises(ZeroDivisionError):
            asyncio.run(Slice(session, row, Doing(takes_long), CONTEXT, fails).run())
        assert session.lost


def test_a_claim_that_brought_less_than_was_wanted_is_not_repeated_at_once(database, monkeypatch):
    """It would ask the database once more for each item that a slice does, for nothing."""
    job = new_job(database, tasks=3)
    wishes: list[int] = []
    seen: list[list[int]] = []

    def counts(database, holder, batch, wish):
        wishes.append(wish.items)
        return commit(database, holder, batch, wish)

    async def takes_time(work: Work, journal: Any) -> None:
        await asyncio.sleep(10 * SETTINGS.flush_seconds)
        seen.append([wanted for wanted in wishes if wanted])

    monkeypatch.setattr(workers.slice, "IDLE_SECONDS", 60.0)
    monkeypatch.setattr(workers.writer, "commit", counts)
    assert run(database, job, Doing(takes_time)).result.finished == 3
    assert seen[0] == [8]


# --- commits that were cut off ----------------------------------------------------------------------------------------


def lost_connection() -> DatabaseUnavailable:
    return DatabaseUnavailable("gone")


def interrupted(monkeypatch, times: int = 1) -> None:
    """The first commits arrive, and nobody hears of it."""
    left = [times]

    def cut_off(*arguments):
        done = commit(*arguments)
        if left[0]:
            left[0] -= 1
            raise lost_connection()
        return done

    monkeypatch.setattr(workers.writer, "commit", cut_off)


def write(database, job: str, *commits: tuple[Callable[[dict[int, Any]], Batch], ClaimRequest]) -> list[list]:
    """Send these commits one after the other through one writer; what each claimed."""

    async def body() -> list[list]:
        with present(database, job) as (session, row):
            writer, claimed, known = CommitWriter(session, row), [], {}
            for batch, wish in commits:
                got = (await writer.commit(batch(known), wish)).claimed
                known |= {item.ordinal: item for item in got}
                claimed.append(list(got))
            held = items_of(database, job)
            writer.close()
            claimed.append([ordinal for ordinal, (state, *_) in held.items() if state == "claimed"])
        return claimed

    return asyncio.run(body())


def test_items_claimed_by_a_commit_that_nobody_heard_of_are_claimed_again_and_none_is_lost(database, monkeypatch):
    job = new_job(database, tasks=6)
    interrupted(monkeypatch, 2)
    got, held = write(database, job, (lambda known: Batch({}), ClaimRequest(2)))
    assert [item.ordinal for item in got] == [0, 1] and held == [0, 1]
    assert [item.claim for item in got] == [3, 3]


def test_what_a_commit_gave_back_and_claimed_again_unheard_is_held_by_nobody_who_does_not_know(database, monkeypatch):
    job = new_job(database, tasks=1)

    def gives_back(known: dict[int, Any]) -> Batch:
        interrupted(monkeypatch)
        item = known[0]
        return Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)])

    _, again, held = write(database, job, (lambda known: Batch({}), ClaimRequest(1)), (gives_back, ClaimRequest(1)))
    assert held == [item.ordinal for item in again]


def test_a_result_that_arrived_unheard_is_written_once(database, monkeypatch):
    job = new_job(database, tasks=2)

    def ends(known: dict[int, Any]) -> Batch:
        interrupted(monkeypatch)
        return Batch({known[0].id: known[0].claim}, finished=[finish(known[0])])

    _, more, held = write(database, job, (lambda known: Batch({}), ClaimRequest(1)), (ends, ClaimRequest(1)))
    assert [item.ordinal for item in more] == held == [1]
    assert items_of(database, job)[0][0] == "done"


def test_who_may_write_no_more_stops_trying(database, monkeypatch):
    job = new_job(database, tasks=1)

    def never(*arguments):
        raise lost_connection()

    for name in ("commit", "release_strays"):
        monkeypatch.setattr(workers.writer, name, never)

    async def body() -> None:
        with present(database, job) as (session, row):
            writer = CommitWriter(session, row)
            asyncio.get_running_loop().call_later(0.2, session.declare_lost)
            with pytest.raises(Fenced):
                await asyncio.wait_for(writer.commit(Batch({}), ClaimRequest(1)), 60)
            writer.close()

    asyncio.run(body())
