"""Which sessions a process observes to be silent, while the database's clock goes on, back or forward."""

from __future__ import annotations

from db.engine.lease import Lease, SilenceWatch

LEASE = 15.0


class Times:
    """A monotonic clock, and a database's clock beside it."""

    def __init__(self) -> None:
        self.monotonic, self.database = 100.0, 1_000_000.0
        self.watch = SilenceWatch(Lease(LEASE), lambda: self.monotonic)

    def pass_by(self, seconds: float) -> None:
        self.monotonic += seconds
        self.database += seconds

    def look(self, heartbeats: dict[int, float]) -> list[int]:
        return self.watch.look(heartbeats, self.database, self.watch.start())


def test_a_heartbeat_older_than_the_lease_is_silent_at_the_first_look():
    times = Times()
    assert times.look({1: times.database - 16, 2: times.database - 14, 3: times.database}) == [1]


def test_a_heartbeat_in_the_future_is_silent_after_a_lease_without_a_newer_one():
    times = Times()
    dead = {1: times.database}
    assert times.look(dead) == []
    times.database -= 7200
    for _ in range(3):
        times.pass_by(5)
        assert times.look(dead) == []
    times.pass_by(1)
    assert times.look(dead) == [1]


def test_a_process_that_starts_after_the_clock_went_back_observes_for_a_lease():
    times = Times()
    dead = {1: times.database + 7200}
    assert times.look(dead) == []
    times.pass_by(LEASE + 1)
    assert times.look(dead) == [1]


def test_sessions_that_beat_are_not_silent_whichever_way_the_clock_goes():
    for jump in (7200.0, -7200.0, 14.0, -14.0):
        times = Times()
        beats = {1: times.database, 2: times.database}
        assert times.look(beats) == []
        times.pass_by(2)
        times.database += jump
        assert times.look(beats) == []  # they have not beaten by the new clock yet
        for _ in range(10):
            times.pass_by(5)
            beats = dict.fromkeys(beats, times.database - 1)
            assert times.look(beats) == []


def test_after_a_jump_forward_a_dead_session_is_silent_within_two_leases():
    times = Times()
    dead = {1: times.database}
    assert times.look(dead) == []
    times.pass_by(5)
    times.database += 7200
    waited = 0
    while times.look(dead) == []:
        times.pass_by(1)
        waited += 1
    assert LEASE - 5 <= waited <= 2 * LEASE


def test_a_slow_query_is_not_a_jump():
    times = Times()
    assert times.look({1: times.database}) == []
    started = times.watch.start()
    times.pass_by(60)  # the answer takes a minute
    assert times.watch.look({1: times.database - 16}, times.database, started) == [1]


def test_a_session_that_has_ended_is_forgotten():
    times = Times()
    future = times.database + 7200
    assert times.look({1: future}) == []
    times.pass_by(LEASE - 1)
    assert times.look({}) == []
    assert times.look({1: future}) == []
    times.pass_by(2)
    assert times.look({1: future}) == []
