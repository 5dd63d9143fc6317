"""Rates and time left: never negative, whatever the figures and the clock do."""

from __future__ import annotations

import pytest

from lumos_queue.live.pace import MIN_SECONDS, Pace


class Clock:
    def __init__(self):
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


def observe(pace: Pace, clock: Clock, *counts: int, every: float = 1.0) -> None:
    for count in counts:
        pace.observe(count, 10 * count)
        clock.seconds += every


def test_the_first_look_says_nothing_and_the_second_a_rate(clock):
    pace = Pace(clock)
    observe(pace, clock, 50)
    assert not pace.is_known and pace.seconds_left(10) is None
    observe(pace, clock, 52)
    assert pace.is_known and (pace.items_per_second, pace.tokens_per_second) == (2.0, 20.0)
    assert pace.seconds_left(10) == 5.0 and pace.seconds_left(0) is None


def test_the_rate_is_that_of_late_and_not_that_of_the_whole_watch(clock):
    pace = Pace(clock)
    observe(pace, clock, *range(0, 100, 10))  # ten a second, and then one
    observe(pace, clock, *range(100, 100 + int(MIN_SECONDS) + 5))
    assert pace.items_per_second == pytest.approx(1.0, abs=0.05)


def test_after_a_silence_of_a_quarter_of_an_hour_there_is_no_rate_and_no_time_left(clock):
    pace = Pace(clock)
    observe(pace, clock, *range(10))
    observe(pace, clock, *[10] * 100, every=10.0)
    assert pace.items_per_second == 0.0 and pace.seconds_left(5) is None


def test_items_that_are_owed_again_and_a_clock_that_stands_still_make_no_nonsense(clock):
    pace = Pace(clock)
    observe(pace, clock, 10, 20, 5)  # `lumos resume` has taken endings back
    assert (pace.items_per_second, pace.tokens_per_second) == (0.0, 0.0)
    observe(pace, clock, 6, 7)
    assert pace.items_per_second == 1.0
    observe(pace, clock, 8, 9, every=0.0)
    clock.seconds -= 50  # no monotonic clock does so
    observe(pace, clock, 10, 11)
    assert pace.items_per_second >= 0 and (pace.seconds_left(5) or 0) >= 0
