"""Which failures a page shows: of every kind, the same ones each time, and first what another job got right."""

from __future__ import annotations

from types import SimpleNamespace

from db.queries.outcomes import FailedEpisode
from lumos_queue.pages.choice import choose, classify

A, B = SimpleNamespace(id="aaaa"), SimpleNamespace(id="bbbb")


def failed(task: int, ending: str = "answered", error: str = "", verdict: str = "") -> FailedEpisode:
    return FailedEpisode(task, f"row-{task}", 0, task, ending, 0.0, error, verdict)


def test_every_class_has_its_turn_the_commonest_first():
    wrong = [failed(number) for number in range(200)]
    rare = [failed(300, error="division_by_zero"), failed(301, "limit"), failed(302, "limit"), failed(303, "gave_up")]
    chosen = choose([A], {"aaaa": [*wrong, *rare]}, {}, 6)
    assert [one.failure for one in chosen] == [
        "wrong although every action worked",
        "ended: limit",
        "ended: gave up",
        "wrong after an action failed: division by zero",
        "wrong although every action worked",
        "ended: limit",
    ]
    assert [one.size for one in chosen] == [200, 2, 1, 1, 200, 2]


def test_within_a_class_neither_the_first_rows_nor_their_order_count():
    several = [failed(number) for number in range(1000)]
    chosen = [one.failed.task for one in choose([A], {"aaaa": several}, {})]
    assert chosen == [one.failed.task for one in choose([A], {"aaaa": several[::-1]}, {})]
    assert len(set(chosen)) == 10
    assert max(chosen) > 500
    assert chosen != list(range(10))


def test_tasks_that_another_job_got_right_come_first_with_the_place_where_it_did():
    several = [failed(number) for number in range(100)]
    right = {"bbbb": {(7, 0): 70, (8, 1): 80}, "aaaa": {(99, 0): 99}}
    chosen = choose([A, B], {"aaaa": several, "bbbb": [failed(number) for number in range(50, 60)]}, right, 3)
    assert (chosen[0].failed.task, chosen[0].right) == (7, (B, 70))
    assert [one.right for one in chosen[1:]] == [None, None], (
        "another sample of task 8 was right; 99 only in the job itself"
    )


def test_jobs_take_turns_and_no_task_comes_twice_while_others_are_left():
    several = [failed(number) for number in range(4)]
    chosen = choose([A, B], {"aaaa": several, "bbbb": several}, {}, 4)
    assert len({one.failed.task for one in chosen}) == 4
    again = choose([A, B], {"aaaa": several, "bbbb": several}, {}, 10)
    assert sorted(one.failed.task for one in again) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_verdict_goes_before_an_ending_and_an_ending_before_an_error():
    assert classify(failed(1, "unreadable", "x", "no_mark")) == "rejected: no_mark"
    assert classify(failed(1, "no_answer", "x")) == "ended: no answer"


def test_without_failures_nothing_is_chosen():
    assert choose([A], {"aaaa": []}, {}) == []
