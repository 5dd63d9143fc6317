"""Shared results: computed once, two at a time, in turn by person, and kept while they are current."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from fastapi import Request

from db.queries.changes import ALL_JOBS, Change
from lumos_queue.errors import SpecError
from lumos_queue.web import shared_results
from lumos_queue.web.errors import Busy, ClientGone
from lumos_queue.web.result_cache import ENTRY_BYTES
from lumos_queue.web.shared_results import AGE_FACTOR, MAX_SECONDS, MAX_WAITING, MIN_SECONDS, THREADS, SharedResults

BOUND = 60  #: seconds for an event
DONE = Change(("done",))


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


class Work:
    """Computations that are counted, and that wait until the test releases them."""

    def __init__(self) -> None:
        self.names: list[str] = []  #: in the order in which they began
        self.release = threading.Event()
        self._lock = threading.Lock()
        self.started = threading.Semaphore(0)

    def compute(self, name: str, change: Change = DONE) -> Callable[[], tuple[Change, Any]]:
        def run() -> tuple[Change, Any]:
            with self._lock:
                self.names.append(name)
            self.started.release()
            assert self.release.wait(BOUND)
            return change, name

        return run


class Connection:
    """The connection of a client, which a test closes."""

    def __init__(self) -> None:
        self.closed = asyncio.Event()

    @property
    def request(self) -> Request:
        async def receive() -> dict[str, str]:
            await self.closed.wait()
            return {"type": "http.disconnect"}

        return Request({"type": "http", "headers": []}, cast(Any, receive))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def results(clock) -> Iterator[SharedResults]:
    shared = SharedResults(clock=clock)
    yield shared
    shared.stop()


@pytest.fixture
def work() -> Iterator[Work]:
    computations = Work()
    yield computations
    computations.release.set()


def run(coroutine: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(BOUND):
            return await coroutine

    return asyncio.run(bounded())


def find(results: SharedResults, name: str, compute: Callable[[], tuple[Change, Any]], change: Change = DONE) -> Any:
    """Find a result for one client, alone."""

    async def find_one() -> Any:
        return await results.find(Connection().request, "rita", name, change, compute)

    return run(find_one())


async def begin(results: SharedResults, work: Work, person: str, name: str, connection: Connection | None = None):
    """Return the task of a request that waits, once it is in the queue."""
    request = (connection or Connection()).request
    task = asyncio.create_task(results.find(request, person, name, DONE, work.compute(name)))
    await asyncio.sleep(0)
    return task


async def occupy(results: SharedResults, work: Work, threads: int = THREADS) -> list[Any]:
    """Occupy all threads with work of another person."""
    tasks = [await begin(results, work, "zoe", f"zoe {number}") for number in range(threads)]
    for _ in tasks:
        await asyncio.to_thread(work.started.acquire, timeout=BOUND)
    return tasks


def test_a_result_is_computed_once_for_all_who_request_it(results, work):
    async def request_often() -> list[Any]:
        tasks = [await begin(results, work, f"person {number % 5}", "report") for number in range(40)]
        work.release.set()
        return [result.value for result in await asyncio.gather(*tasks)]

    assert run(request_often()) == ["report"] * 40
    assert work.names == ["report"]
    assert find(results, "report", work.compute("report")).value == "report" and work.names == ["report"]


def test_two_results_are_computed_at_once(results, work):
    async def request_three() -> None:
        tasks = await occupy(results, work)
        tasks.append(await begin(results, work, "rita", "third"))
        assert len(work.names) == 2
        work.release.set()
        await asyncio.gather(*tasks)

    run(request_three())
    assert work.names[2] == "third"


def test_people_take_turns_and_a_few_results_of_a_person_wait(results, work, monkeypatch):
    monkeypatch.setattr(shared_results, "THREADS", 1)

    async def request_many() -> None:
        tasks = await occupy(results, work, 1)
        tasks += [await begin(results, work, "rita", f"rita {number}") for number in range(MAX_WAITING)]
        tasks += [await begin(results, work, "rita", "rita 0")]  # it waits already
        refusal = await begin(results, work, "rita", "rita too many")
        with pytest.raises(Busy, match="wait until they are displayed"):
            await refusal
        tasks += [await begin(results, work, "anna", f"anna {number}") for number in range(2)]
        tasks += [await begin(results, work, "anna", "rita 3")]  # it is for anna, too
        work.release.set()
        await asyncio.gather(*tasks)

    run(request_many())
    assert work.names[1:] == ["rita 0", "anna 0", "rita 1", "anna 1", "rita 2", "rita 3"]


def test_requests_that_arrive_before_the_threads_start_do_not_count_as_waiting(results, work, monkeypatch):
    monkeypatch.setattr(results, "_start_thread", lambda: None)

    async def request_many() -> None:
        tasks = [await begin(results, work, "rita", f"rita {number}") for number in range(THREADS + MAX_WAITING)]
        assert not any(task.done() for task in tasks)
        refusal = await begin(results, work, "rita", "rita too many")
        with pytest.raises(Busy):
            await refusal
        for task in tasks:
            task.cancel()

    run(request_many())


def test_a_result_whose_clients_have_gone_is_not_computed_and_takes_no_place(results, work):
    async def leave() -> None:
        tasks = await occupy(results, work)
        connections = [Connection() for _ in range(MAX_WAITING)]
        pending = [
            await begin(results, work, "rita", f"rita {number}", connection)
            for number, connection in enumerate(connections)
        ]
        other = await begin(results, work, "anna", "rita 1")
        for connection in connections:
            connection.closed.set()
        for task in pending:
            with pytest.raises(ClientGone):
                await task
        tasks += [other, *[await begin(results, work, "rita", f"later {number}") for number in range(MAX_WAITING)]]
        work.release.set()
        await asyncio.gather(*tasks)

    run(leave())
    assert sorted(work.names[THREADS:]) == ["later 0", "later 1", "later 2", "later 3", "rita 1"]


def test_an_error_reaches_all_who_wait_and_is_not_kept(results, work):
    def fail() -> tuple[Change, Any]:
        work.names.append("fail")
        assert work.release.wait(BOUND)
        raise SpecError("no such metric")

    async def request_twice() -> None:
        tasks = [asyncio.create_task(results.find(Connection().request, "rita", "x", DONE, fail)) for _ in range(2)]
        await asyncio.sleep(0)
        work.release.set()
        assert [str(error) for error in await asyncio.gather(*tasks, return_exceptions=True)] == ["no such metric"] * 2

    run(request_twice())
    assert work.names == ["fail"]
    assert find(results, "x", work.compute("x")).value == "x"


def test_a_result_is_current_until_its_subject_changes(results, work, clock):
    work.release.set()
    find(results, "report", work.compute("first"))
    clock.seconds += MAX_SECONDS - 1
    assert (result := find(results, "report", work.compute("second"))).value == "first" and result.age == ""
    label = Change(("done", "label"))
    assert find(results, "report", work.compute("third", label), label).value == "third"
    clock.seconds += MAX_SECONDS
    assert find(results, "report", work.compute("fourth", label), label).value == "fourth"


def test_a_result_of_an_open_job_is_served_for_a_while_with_its_age(results, clock):
    def compute(seconds: float, number: int) -> Callable[[], tuple[Change, int]]:
        def run() -> tuple[Change, int]:
            clock.seconds += seconds
            return Change((number,), is_open=True), number

        return run

    for key, seconds in (("quick", 0.1), ("slow", 30.0)):
        served_seconds = max(MIN_SECONDS, AGE_FACTOR * seconds)
        find(results, key, compute(seconds, 1), Change((0,), is_open=True))
        clock.seconds += served_seconds - seconds - 0.01
        result = find(results, key, compute(seconds, 2), Change((8,), is_open=True))
        assert result.value == 1 and result.age in ("5 s", "5 min")
        clock.seconds += 0.02
        assert find(results, key, compute(seconds, 3), Change((9,), is_open=True)).value == 3
    # When the job has ended, its final report is not an old one.
    assert find(results, "slow", compute(1.0, 4), DONE).value == 4


def test_what_runs_already_is_too_old_for_a_job_that_has_changed(results, work):
    async def change() -> list[Any]:
        first = await begin(results, work, "rita", "report")
        await asyncio.to_thread(work.started.acquire, timeout=BOUND)
        label = Change(("done", "label"))
        compute = work.compute("new report", label)
        second = asyncio.create_task(results.find(Connection().request, "anna", "report", label, compute))
        await asyncio.sleep(0)
        work.release.set()
        return [result.value for result in await asyncio.gather(first, second)]

    assert run(change()) == ["report", "new report"]


def test_results_are_kept_up_to_a_number_of_bytes(clock):
    results, computed = SharedResults(10 * ENTRY_BYTES, clock), []

    def compute(number: int, size: int) -> Callable[[], tuple[Change, bytes]]:
        def run() -> tuple[Change, bytes]:
            computed.append(number)
            return DONE, bytes(size)

        return run

    try:
        for number in (0, 1, 0, 2, 0, 1):  # two of these have a place: 1 is the one not used for longest
            find(results, str(number), compute(number, 3 * ENTRY_BYTES))
        assert computed == [0, 1, 2, 1]
        for _ in range(2):
            assert len(find(results, "huge", compute(9, 20 * ENTRY_BYTES)).value) == 20 * ENTRY_BYTES
        assert computed[4:] == [9, 9]
    finally:
        results.stop()


def test_nobody_changes_the_result_of_another_page(results):
    first = find(results, "list", lambda: (ALL_JOBS, [1, 2]), ALL_JOBS)
    first.value.append(3)
    assert find(results, "list", lambda: (ALL_JOBS, []), ALL_JOBS).value == [1, 2]


def test_requests_from_several_event_loops_share_a_result(results, work):
    with ThreadPoolExecutor(4) as threads:
        futures = [threads.submit(find, results, "report", work.compute("report")) for _ in range(4)]
        assert work.started.acquire(timeout=BOUND)
        work.release.set()
        assert [future.result().value for future in futures] == ["report"] * 4
    assert work.names == ["report"]
