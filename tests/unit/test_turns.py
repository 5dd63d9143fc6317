"""The turns of requests: limits of a holder and of all, in turn by holder."""

from __future__ import annotations

from lumos_queue.web.connections.turns import Turn, Turns


class Requests:
    """Requests that take turns, with the names of those that began."""

    def __init__(self, of_holder: int, in_all: int | None = None):
        self.turns, self.started = Turns(of_holder, in_all), []

    def take(self, name: str, holder: str) -> Turn:
        turn = Turn(holder, lambda: self.started.append(name))
        self.turns.take(turn)
        return turn


def test_a_holder_has_a_limit_and_others_do_not_wait_for_it():
    requests = Requests(of_holder=2)
    first, *_ = [requests.take(f"a{number}", "a") for number in range(5)]
    requests.take("b0", "b")
    assert requests.started == ["a0", "a1", "b0"]
    requests.turns.end(first)
    requests.turns.end(first)
    assert requests.started == ["a0", "a1", "b0", "a2"]


def test_holders_take_turns_at_the_limit_of_all():
    requests = Requests(of_holder=5, in_all=1)
    turns = {name: requests.take(name, name[0]) for name in ("a0", "a1", "a2", "b0", "b1", "c0")}
    for _ in range(5):
        requests.turns.end(turns[requests.started[-1]])
    assert requests.started == ["a0", "a1", "b0", "c0", "a2", "b1"]


def test_a_request_whose_sender_has_left_does_not_begin():
    requests = Requests(of_holder=1)
    first, second, _ = (requests.take(f"a{number}", "a") for number in range(3))
    requests.turns.end(second)
    requests.turns.end(first)
    requests.turns.end(second)
    assert requests.started == ["a0", "a2"]
