"""What a person is told of an outage, and when a command gives up."""

from __future__ import annotations

import pytest

from lumos_queue.cli.outage import Outage
from lumos_queue.errors import EndpointDown
from workers.patience import GIVE_UP_SECONDS, Patience


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def watched(clock, looks):
    """What is told when these are seen: seconds since the first look, cause, whether an item was answered."""
    told: list[tuple[float, str]] = []
    outage = Outage(lambda text: told.append((clock.now - 1000, text)), clock)
    for second, cause, over in looks:
        clock.now = 1000.0 + second
        outage.update(cause, over)
    return told


def test_an_outage_is_told_of_at_once_every_minute_and_when_it_is_over(clock):
    looks = [(0, "", True)] + [(second, "host answered 503", False) for second in range(2, 130)] + [(130, "", True)]
    assert watched(clock, looks) == [
        (2, "waits: host answered 503"),
        (62, "still waits after 60 s: host answered 503"),
        (122, "still waits after 2 min: host answered 503"),
        (130, "continues after 2 min"),
    ]


def test_a_try_that_is_under_way_does_not_end_an_outage(clock):
    looks = [
        (0, "down", False),
        (5, "", False),
        (6, "down", False),
        (7, "", False),
        (61, "", False),
        (63, "down", False),
    ]
    assert watched(clock, looks) == [(0, "waits: down"), (63, "still waits after 63 s: down")]


def test_a_second_outage_is_told_of_anew(clock):
    looks = [(0, "down", False), (5, "", True), (6, "", True), (9, "down again", False)]
    assert [text for _, text in watched(clock, looks)] == ["waits: down", "continues after 5 s", "waits: down again"]


def ends(clock, looks):
    """The second at which patience ends, None if it does not."""
    patience = Patience(clock)
    for second, status, answered in looks:
        clock.now = 1000.0 + second
        if patience.is_over(None if status is None else EndpointDown("down", status=status), answered):
            return second
    return None


@pytest.mark.parametrize("status", [301, 307, 308, 400, 401, 402, 403, 404, 405, 422])
def test_what_only_a_person_can_change_is_given_up_after_a_minute(clock, status):
    assert ends(clock, [(second, status, False) for second in range(200)]) == GIVE_UP_SECONDS


@pytest.mark.parametrize("status", [0, 408, 413, 429, 500, 502, 503])
def test_other_outages_are_waited_for(clock, status):
    assert ends(clock, [(second, status, False) for second in range(10_000)]) is None


def test_the_minute_begins_with_the_item_that_was_answered_last(clock):
    assert ends(clock, [(second, 404, second == 50) for second in range(200)]) == 50 + GIVE_UP_SECONDS


def test_the_minute_begins_anew_after_an_outage_of_another_kind(clock):
    for other in (503, None):
        looks = [(second, other if second == 50 else 404, False) for second in range(200)]
        assert ends(clock, looks) == 51 + GIVE_UP_SECONDS
