"""Which experts stay loaded: the sum stays below the cap, who is busy stays, and nobody waits for ever."""

from __future__ import annotations

from threading import Thread

import pytest

from lumos_queue.experts import memory
from lumos_queue.experts.memory import MemoryBudget


class Loaded:
    def __init__(self, memory: int):
        self.memory, self.ended = memory, 0

    def end(self) -> None:
        self.ended += 1


def acquire(budget: MemoryBudget, one: Loaded) -> Thread:
    """In a thread, which is given the time to get as far as it can."""
    thread = Thread(target=budget.acquire, args=(one,), daemon=True)
    thread.start()
    thread.join(0.15)
    return thread


def use(budget: MemoryBudget, *several: Loaded) -> None:
    for one in several:
        thread = acquire(budget, one)
        assert not thread.is_alive(), "there is room, or an idle one to end"
        budget.release(one)


def test_as_many_stay_as_fit_and_the_least_recently_used_goes():
    budget, (a, b, c) = MemoryBudget(4), (Loaded(2) for _ in range(3))
    use(budget, a, b, a, c)
    assert (a.ended, b.ended, c.ended) == (0, 1, 0)
    use(budget, b)
    assert (a.ended, b.ended, c.ended) == (1, 1, 0)


def test_several_go_where_one_is_not_enough_and_no_more_than_needed():
    budget, small, large = MemoryBudget(4), [Loaded(1) for _ in range(4)], Loaded(2)
    use(budget, *small, large)
    assert [one.ended for one in small] == [1, 1, 0, 0]


def test_who_is_busy_stays():
    budget, a, b, c = MemoryBudget(4), Loaded(2), Loaded(2), Loaded(2)
    acquire(budget, a)
    use(budget, b, c)
    assert (a.ended, b.ended) == (0, 1)


def test_who_finds_all_busy_waits_until_one_is_done():
    budget, a, b = MemoryBudget(4), Loaded(3), Loaded(2)
    acquire(budget, a)
    waiting = acquire(budget, b)
    assert waiting.is_alive() and not a.ended
    budget.release(a)
    waiting.join(5)
    assert not waiting.is_alive() and a.ended == 1


def test_who_came_first_is_first_even_if_others_would_fit():
    budget, a, large, small = MemoryBudget(4), Loaded(3), Loaded(4), Loaded(1)
    acquire(budget, a)
    first, second = acquire(budget, large), acquire(budget, small)
    assert first.is_alive() and second.is_alive(), "the small one would fit"
    budget.release(a)
    first.join(5)
    assert not first.is_alive() and second.is_alive()
    budget.release(large)
    second.join(5)
    assert not second.is_alive()


def test_all_who_fit_go_on_when_there_is_room():
    budget, a, b, c = MemoryBudget(4), Loaded(4), Loaded(2), Loaded(2)
    acquire(budget, a)
    waiting = [acquire(budget, b), acquire(budget, c)]
    budget.release(a)
    for thread in waiting:
        thread.join(5)
        assert not thread.is_alive()


def test_who_waited_its_turn_and_is_still_loaded_stays_so(monkeypatch):
    monkeypatch.setattr(memory, "PATIENCE", 0.0)
    budget, large, a, other = MemoryBudget(4), Loaded(3), Loaded(1), Loaded(3)
    acquire(budget, large)
    acquire(budget, a)
    waiting = acquire(budget, other)
    budget.release(a)
    again = acquire(budget, a)
    assert again.is_alive(), "behind the other"
    budget.release(large)
    for thread in (waiting, again):
        thread.join(5)
        assert not thread.is_alive()
    assert (large.ended, a.ended) == (1, 0)


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_who_is_loaded_goes_on_until_someone_has_waited_long(monkeypatch, patience):
    monkeypatch.setattr(memory, "PATIENCE", patience)
    budget, a, b, large = MemoryBudget(4), Loaded(2), Loaded(2), Loaded(4)
    acquire(budget, a)
    acquire(budget, b)
    waiting = acquire(budget, large)
    budget.release(a)
    again = acquire(budget, a)
    assert again.is_alive() == (patience == 0.0)
    budget.release(b)
    if patience:
        budget.release(a)
    waiting.join(5)
    assert not waiting.is_alive() and a.ended == b.ended == 1
    budget.release(large)
    again.join(5)
    assert not again.is_alive()


def test_who_is_gone_for_good_takes_no_room():
    budget, a, b = MemoryBudget(4), Loaded(4), Loaded(4)
    acquire(budget, a)
    waiting = acquire(budget, b)
    budget.forget(a)
    waiting.join(5)
    assert not waiting.is_alive() and not a.ended
