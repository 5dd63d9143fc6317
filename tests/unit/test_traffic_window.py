"""The window of requests at once, against simulated servers: it finds what is of use, and gives way."""

from __future__ import annotations

import heapq
import random

import pytest

from lumos_queue.endpoints.window import FIRST, Window


def simulate(window, server, rounds, *, seconds_of=lambda chance: 1.0, limit=None, wanted=10**9, seed=0):
    """Keep `window` full for so many mean latencies; the size at the end, and the largest on the way.

    `server(in flight)` is the factor by which a reply takes longer; above `limit` in flight the server refuses.
    """
    chance, now, in_flight, ends, largest, serial = random.Random(seed), 0.0, 0, [], window.size, 0
    while now < rounds:
        while in_flight < min(int(window.size), wanted):
            serial += 1
            if limit is not None and in_flight >= limit:
                heapq.heappush(ends, (now + 0.01, serial, now, False))
            else:
                heapq.heappush(ends, (now + seconds_of(chance) * server(in_flight + 1), serial, now, True))
            in_flight += 1
        if in_flight >= int(window.size):
            window.note_full()
        now, _, sent, served = heapq.heappop(ends)
        in_flight -= 1
        if served:
            window.note_reply(sent, now)
        else:
            window.note_overload(sent, now, in_flight)
        largest = max(largest, window.size)
        assert window.size >= 1
    return window.size, largest


def test_at_equal_latency_it_reaches_256_in_seven_round_trips():
    assert simulate(Window(256), lambda busy: 1.0, 7.5)[0] == 256


def test_at_equal_latency_it_never_throttles_once_it_has_grown():
    window = Window(256)
    simulate(window, lambda busy: 1.0, 8)
    for seed in range(5):
        spread = lambda chance: chance.lognormvariate(0, 0.5)  # noqa: E731
        assert simulate(window, lambda busy: 1.0, 20, seconds_of=spread, seed=seed)[0] == 256


@pytest.mark.parametrize("seed", range(8))
def test_replies_of_all_lengths_do_not_stop_it(seed):
    size, _ = simulate(Window(256), lambda busy: 1.0, 40, seconds_of=lambda c: c.expovariate(1) + 0.05, seed=seed)
    assert size > 160


def test_a_server_that_batches_is_filled_although_it_gets_slower():
    assert simulate(Window(256), lambda busy: 1 + busy / 128, 40)[0] == 256


@pytest.mark.parametrize("slots", [4, 16, 32, 64])
def test_where_requests_only_queue_it_stops(slots):
    size, largest = simulate(Window(1024), lambda busy: max(1.0, busy / slots), 200)
    assert slots / 2 <= size <= 4 * slots
    assert largest <= 8 * slots


@pytest.mark.parametrize("limit", [1, 3, 20, 100])
def test_refusals_keep_it_near_what_the_server_takes(limit):
    window = Window(256)
    size, _ = simulate(window, lambda busy: 1.0, 100, limit=limit)
    assert limit / 3 <= size <= 2 * limit + 1


def test_it_recovers_when_the_load_goes():
    window = Window(256)
    simulate(window, lambda busy: 1.0, 30, limit=2)
    assert window.size < 8
    assert simulate(window, lambda busy: 1.0, 120)[0] == 256


def test_it_is_cut_once_for_all_that_were_in_flight_together():
    window = Window(256)
    simulate(window, lambda busy: 1.0, 8)
    for _ in range(100):
        window.note_overload(8.0, 9.0, 256)
    assert window.size == 128
    window.note_overload(9.5, 10.0, 128)
    assert window.size == 64


def test_it_grows_only_while_it_is_the_limit():
    assert simulate(Window(256), lambda busy: 1.0, 50, wanted=5)[0] == FIRST


def test_it_is_never_larger_than_it_may_be():
    assert simulate(Window(3), lambda busy: 1.0, 50)[1] == 3
    assert simulate(Window(100), lambda busy: 1.0, 50)[1] == 100
