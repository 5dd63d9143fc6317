"""When a replica is left out, how it is tried again, and what it wants: with times written down, no server."""

from __future__ import annotations

import time

import pytest

from lumos_queue.endpoints.evidence import MAX_TRIES, Evidence
from lumos_queue.endpoints.flights import Flights
from lumos_queue.endpoints.http import Http
from lumos_queue.endpoints.replicas import MAX_FAILURES, MAX_PAUSE_SECONDS, PAUSE_SECONDS, Replica, Replicas
from lumos_queue.settings import Settings


def replicas(count: int) -> Replicas:
    clients = [Http(f"http://127.0.0.1:{port}", Settings()) for port in range(1, count + 1)]
    return Replicas(Replica(client, Flights(1.0, 1.0, lambda: 1, client.is_alive, lambda: None)) for client in clients)


def replica() -> Replica:
    return replicas(1).all[0]


def left_out(now: float) -> Replica:
    """One that has just failed too often."""
    one = replica()
    for _ in range(MAX_FAILURES):
        one.note_failure(now)
    assert one.out and not one.is_usable(now)
    return one


def test_a_refusal_leaves_out_nobody_but_one_on_probation():
    """A wrong request is refused by a server that is well."""
    one = replica()
    for _ in range(10):
        one.note_refusal(100.0)
    assert not one.out and one.is_usable(100.0)
    unhealthy = left_out(100.0)
    back = 100.0 + PAUSE_SECONDS
    assert unhealthy.is_usable(back)
    unhealthy.begin().note_refusal(back)  # its probe has failed
    unhealthy.end()
    assert (
        not unhealthy.is_usable(back)
        and not unhealthy.is_usable(back + PAUSE_SECONDS)
        and unhealthy.is_usable(back + 2 * PAUSE_SECONDS)
    )


def test_failures_count_in_a_row():
    one = replica()
    for _ in range(MAX_FAILURES - 1):
        one.note_failure(1.0)
    one.note_success()
    for _ in range(MAX_FAILURES - 1):
        one.note_failure(2.0)
    assert not one.out
    one.note_failure(2.0)
    assert one.out


def test_one_failed_probe_leaves_it_out_again_for_twice_as_long_up_to_a_minute():
    one, now, pause = left_out(0.0), 0.0, PAUSE_SECONDS
    while pause < MAX_PAUSE_SECONDS:
        now, pause = now + pause, min(2 * pause, MAX_PAUSE_SECONDS)
        assert one.is_usable(now)
        one.begin().note_failure(now)
        one.end()
        assert one.returns_at == now + pause and not one.is_usable(now + pause - 0.01)
    now += pause
    one.begin().note_failure(now)
    one.end()
    assert one.returns_at == now + MAX_PAUSE_SECONDS, "no longer pause than this"
    one.note_success()
    assert not one.out and one.is_usable(now)
    assert left_out(now).returns_at == now + PAUSE_SECONDS


def test_what_was_in_flight_when_it_was_left_out_does_not_lengthen_its_pause():
    one = left_out(10.0)
    for late in (10.1, 10.5, 10.9):
        one.note_failure(late)
        one.avoid(late)
    assert one.returns_at == 10.0 + PAUSE_SECONDS


def test_one_request_at_a_time_probes_and_one_that_was_cancelled_makes_room_for_another():
    one = left_out(0.0)
    now = PAUSE_SECONDS
    one.begin()
    assert not one.is_usable(now), "somebody is finding out"
    one.end()  # without a word about how it went
    assert one.is_usable(now)


def test_quiet_is_the_longest_asked_for():
    one = replica()
    one.pause_for(30.0, 100.0)
    one.pause_for(1.0, 101.0)
    assert one.pause_seconds(102.0) == 28.0 and not one.is_usable(129.9) and one.is_usable(130.0)
    assert one.pause_seconds(131.0) == 0.0


def test_the_endpoint_is_quiet_only_while_all_that_are_well_want_it():
    found = replicas(3)
    now = time.perf_counter()
    unhealthy, one, two = found.all
    for _ in range(MAX_FAILURES):
        unhealthy.note_failure(now)
    one.pause_for(50.0, now)
    assert found.pause_seconds() == 0.0, "the other takes requests"
    two.pause_for(20.0, now)
    assert 10.0 < found.pause_seconds() <= 20.0, "the one that is left out does not count"
    for each in (one, two):
        for _ in range(MAX_FAILURES):
            each.note_failure(now)
    assert found.pause_seconds() == 0.0, "where all are left out all count"


def test_one_on_probation_is_tried_first_and_where_all_are_out_the_one_that_returns_first():
    found = replicas(3)
    now = time.perf_counter()
    unhealthy = found.all[1]
    for _ in range(MAX_FAILURES):
        unhealthy.note_failure(now - 2 * PAUSE_SECONDS)
    assert {found.choose(f"episode {number}") for number in range(20)} == {unhealthy}
    unhealthy.begin()
    assert unhealthy not in {found.choose(f"episode {number}") for number in range(20)}
    unhealthy.end()
    for each, ago in zip(found.all, (0.3, 0.1, 0.2), strict=True):
        each.note_success()
        for _ in range(MAX_FAILURES):
            each.note_failure(now - ago)
    assert found.choose("e") is found.all[0]
    assert found.choose("e", tried_replicas=found.all[:1]) is None


def test_a_request_sent_when_the_refusal_came_is_one_sent_after_it():
    known = Evidence()
    known.note_answer("other", 1.0)
    known.note_refusal("item", True, 2.0)
    known.note_answer("other", 2.0)
    assert not known.is_open("item")


def test_the_latest_two_to_be_answered_are_two():
    """One item that asks again and again does not hide that another was answered."""
    known = Evidence()
    known.note_answer("other", 1.0)
    for _ in range(3):
        known.note_answer("item", 2.0)
    assert known.is_serving_others("item")


@pytest.mark.parametrize("refusals", range(1, MAX_TRIES + 2))
def test_so_many_tries_count_and_not_one_fewer(refusals):
    known = Evidence()
    known.note_answer("other", 0.0)
    for number in range(refusals):
        known.note_refusal("item", known.is_serving_others("item"), 2.0 * number + 1)
        known.note_answer("other", 2.0 * number + 2)
    assert known.blames("item", 400) == (refusals >= MAX_TRIES)
    known.forget("item")
    assert not known.blames("item", 400)


def test_being_answered_ends_what_was_refused_twice_in_a_row():
    known = Evidence()
    known.note_refusal("item", False, 1.0)
    known.note_refusal("item", False, 2.0)
    assert not known.is_lone("item")
    known.note_answer("other", 3.0)
    known.note_refusal("item", True, 4.0)
    assert known.is_lone("item"), "somebody was answered in between"
