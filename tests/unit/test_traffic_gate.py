"""The gate alone, without a server: who goes next, what is kept waiting, and what counts as one failure."""

from __future__ import annotations

import asyncio
import math
import time

import pytest

from lumos_queue.endpoints.admission import MAX_FAILURES, MAX_PAUSE_SECONDS, AdmissionControl
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.window import BELOW, FIRST, Window
from lumos_queue.errors import EndpointDown, InfrastructureError, NotSent

BROKEN = TryFailed("it broke")
UNREACHABLE = TryFailed("nobody there", cause="unreachable")


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def entering(gate: AdmissionControl, count: int) -> list[asyncio.Task]:
    tasks = [asyncio.create_task(gate.enter()) for _ in range(count)]
    await turn()
    return tasks


def entered(tasks: list[asyncio.Task]) -> list[int]:
    return [place for place, task in enumerate(tasks) if task.done()]


def test_nobody_overtakes_those_who_wait():
    async def body():
        gate = AdmissionControl("tgi://x", 2)
        gate.set_share(0)
        first = await entering(gate, 2)
        gate.share = 1  # there is a place, and nobody has been told yet
        late = await entering(gate, 1)
        assert entered([*first, *late]) == []
        gate.set_share(1)
        await turn()
        assert entered([*first, *late]) == [0]
        gate.leave()
        await turn()
        assert entered([*first, *late]) == [0, 1]

    asyncio.run(body())


def test_a_place_given_in_the_moment_of_a_cancellation_goes_to_the_next():
    async def body():
        gate = AdmissionControl("tgi://x", 1)
        tasks = await entering(gate, 3)
        gate.leave()  # the second one has the place, and does not know it yet
        tasks[1].cancel()
        await turn()
        assert tasks[1].cancelled() and entered(tasks) == [0, 1, 2]
        assert (gate.in_flight, gate.waiting) == (1, 0)

    asyncio.run(body())


@pytest.mark.parametrize(("share", "most", "places"), [(None, 3, 3), (2, 3, 2), (5, 3, 3), (0, 3, 0)])
def test_there_are_as_many_places_as_share_and_limit_allow(share, most, places):
    async def body():
        gate = AdmissionControl("tgi://x", most)
        gate.set_share(share)
        await entering(gate, 6)
        assert (gate.in_flight, gate.waiting) == (places, 6 - places)

    asyncio.run(body())


def test_a_short_quiet_does_not_end_a_longer_one():
    async def body():
        gate = AdmissionControl("tgi://x", 3)
        gate.pause_for(0.4)
        gate.pause_for(0.05)
        began = time.perf_counter()
        await asyncio.wait_for(gate.enter(), 30)
        assert time.perf_counter() - began > 0.3

    asyncio.run(body())


def test_a_quiet_that_is_long_is_no_wait_for_those_in_line_nor_for_those_who_come():
    async def body():
        gate = AdmissionControl("tgi://x", 1)
        tasks = await entering(gate, 2)
        gate.pause_for(MAX_PAUSE_SECONDS + 10)
        await turn()
        for who in (tasks[1], asyncio.create_task(gate.enter())):
            with pytest.raises(InfrastructureError, match="left alone") as caught:
                await asyncio.wait_for(who, 30)
            assert MAX_PAUSE_SECONDS < caught.value.retry_after <= MAX_PAUSE_SECONDS + 10

    asyncio.run(body())


def test_when_the_slice_ends_those_who_wait_go_and_those_with_a_slot_stay():
    async def body():
        gate = AdmissionControl("tgi://x", 2)
        tasks = await entering(gate, 4)
        gate.drain()
        await turn()
        assert [task.exception() if task.done() else None for task in tasks[:2]] == [None, None]
        assert all(isinstance(task.exception(), NotSent) for task in tasks[2:])
        assert (gate.in_flight, gate.waiting) == (2, 0)
        with pytest.raises(NotSent, match="before the request was sent"):
            await gate.enter()
        gate.leave()
        await gate.enter()  # an episode that has begun may go on while there is a slot
        assert gate.in_flight == 2

    asyncio.run(body())


def fail(gate: AdmissionControl, failure: TryFailed, sent: float, began: float, last_try: bool = False) -> bool:
    """Whether the breaker is open after it."""
    gate.note_failure(failure, sent, began, last_try)
    try:
        gate.check_breaker()
    except EndpointDown:
        return True
    return False


def test_what_was_in_flight_when_the_first_broke_breaks_with_it():
    gate = AdmissionControl("tgi://x", 64)
    began = time.perf_counter()
    assert not any(fail(gate, BROKEN, began - 1, began - number) for number in range(3 * MAX_FAILURES))
    later = time.perf_counter() + 1
    failing = []
    for number in range(MAX_FAILURES):
        assert not fail(gate, BROKEN, later, later + number), "it takes evidence to call a server down that is there"
        failing.append(gate.is_failing)
    assert failing == [False] * (MAX_FAILURES - 2) + [True] * 2, "what is sent afterwards counts each time"


def test_what_did_not_break_counts_each_time():
    gate = AdmissionControl("tgi://x", 64)
    sent = time.perf_counter() - 1
    opened = [fail(gate, UNREACHABLE, sent, sent - number) for number in range(MAX_FAILURES)]
    assert opened == [False] * (MAX_FAILURES - 1) + [True]


def test_one_request_that_fails_again_and_again_opens_nothing_unless_nobody_is_there():
    gate, began = AdmissionControl("tgi://x", 64), time.perf_counter()
    later = began + 1
    assert not any(fail(gate, BROKEN, later + number, began) for number in range(2 * MAX_FAILURES))
    assert not fail(gate, BROKEN, later + 99, began, last_try=True)
    assert fail(AdmissionControl("tgi://x", 64), UNREACHABLE, later, began, last_try=True)


def test_the_last_try_of_a_request_that_is_older_than_a_success_says_little():
    gate, began = AdmissionControl("tgi://x", 64), 100.0
    gate.note_success(100.5, 101.0)
    assert not fail(gate, UNREACHABLE, 102.0, began, last_try=True)
    assert fail(gate, UNREACHABLE, 102.0, 101.5, last_try=True)


def test_a_success_wipes_the_slate():
    gate, now = AdmissionControl("tgi://x", 64), time.perf_counter() + 1
    for number in range(MAX_FAILURES - 1):
        assert not fail(gate, UNREACHABLE, now, now + number)
    gate.note_success(now, now + 1)
    # From here on a single request fails: that several did before is forgotten.
    assert not any(fail(gate, BROKEN, now + 10 + number, now + 10) for number in range(3 * MAX_FAILURES))


def test_who_sleeps_between_two_tries_hears_that_the_endpoint_is_down():
    async def body():
        gate = AdmissionControl("tgi://x", 1)
        asleep = asyncio.create_task(gate.sleep(60))
        waiting = (await entering(gate, 2))[1]
        gate.open_breaker("gone", 401)
        for who in (asleep, waiting):
            with pytest.raises(EndpointDown, match="gone") as caught:
                await asyncio.wait_for(who, 30)
            assert caught.value.status == 401

    asyncio.run(body())


def window_of(latency: float, window: Window, began: float) -> float:
    """One round of a window that is full: as many replies as it has places, all of this latency; when it ends."""
    window.note_full()
    for _ in range(math.ceil(window.size)):
        window.note_reply(began, began + latency)
    return began + latency


def test_a_window_doubles_each_round_and_a_share_below_it_is_no_reason_to_grow():
    window, now = Window(1000), 1.0
    sizes = []
    for _ in range(7):
        now = window_of(1.0, window, now)
        sizes.append(window.size)
    assert sizes == [2 * FIRST, 4 * FIRST, 8 * FIRST, 16 * FIRST, 32 * FIRST, 64 * FIRST, 1000]

    async def body():
        gate = AdmissionControl("tgi://x", 1000)
        gate.set_share(FIRST // 2)
        await entering(gate, 20)
        for _ in range(FIRST):
            gate.note_success(1.0, 2.0)
        assert gate.window == FIRST

    asyncio.run(body())


def test_where_requests_only_wait_the_window_goes_back_to_below_where_the_queue_begins():
    window = Window(1000)
    now = window_of(1.0, window, 1.0)  # 8 in flight take a second
    assert window.size == 2 * FIRST
    window_of(2.0, window, now)  # 16 take two: the server only queues
    assert window.size == pytest.approx(FIRST * BELOW)


def test_a_window_cut_by_a_refusal_begins_with_what_is_in_flight():
    window = Window(1000)
    now = window_of(1.0, window, 1.0)
    window.note_overload(now, now + 1, 12)
    assert window.size == 6
    window = Window(1000)
    window.note_overload(1.0, 2.0, 0)
    assert window.size == 1


def test_replies_to_requests_of_an_earlier_round_say_nothing_about_this_one():
    window = Window(1000)
    now = window_of(1.0, window, 1.0)
    window.note_full()
    for _ in range(500):
        window.note_reply(now - 0.5, now + 9)
    assert window.size == 2 * FIRST


def test_a_window_that_was_cut_doubles_again_up_to_where_it_began():
    window, now = Window(1000), 1.0
    window.note_overload(now, now, 4)
    sizes = []
    for _ in range(5):
        now = window_of(1.0, window, now + 1)
        sizes.append(window.size)
    assert sizes == [4, 8, 9, 10.125, 11.390625]


def test_a_window_that_latency_stopped_doubles_again_once_latency_says_no_more():
    window = Window(1000)
    now = window_of(1.0, window, 1.0)
    now = window_of(2.0, window, now)  # stopped
    now = window_of(1.0, window, now + 1)
    assert window.size == pytest.approx(2 * FIRST * BELOW)
    window_of(1.0, window, now + 1)  # at twice the size as quick as before: the server has room after all
    assert window.size == pytest.approx(4 * FIRST * BELOW)
