"""When the person who waits is told that items fail: at once, every minute, and when the reason changes."""

from __future__ import annotations

from lumos_queue.cli.failure_notice import FailureNotice


def notices(looks) -> list[tuple[float, str]]:
    """What is printed when these are seen: seconds since the first look, and the reason."""
    printed: list[tuple[float, str]] = []
    seconds = 0.0
    notice = FailureNotice(lambda line: printed.append((seconds, line)), lambda: seconds)
    for seconds, reason in looks:  # noqa: B007
        notice.update(reason, f"3 items failed: {reason}" if reason else "")
    return printed


def test_the_same_reason_is_printed_at_once_and_every_minute_though_its_numbers_differ():
    looks = [(second, f"request {second} failed") for second in range(0, 130, 2)]
    assert notices([(0, ""), *looks]) == [
        (0, "3 items failed: request 0 failed"),
        (60, "3 items failed: request 60 failed"),
        (120, "3 items failed: request 120 failed"),
    ]


def test_items_that_fail_now_and_then_are_no_line_each():
    looks = [(second, "quota" if second % 4 else "") for second in range(59)]
    assert [second for second, _ in notices(looks)] == [1]


def test_another_reason_is_printed_soon_and_one_that_changes_each_time_seldom():
    assert [second for second, _ in notices([(0, "a"), (2, "b"), (6, "b"), (8, "b")])] == [0, 6]
    looks = [(second, chr(97 + second)) for second in range(21)]
    assert [second for second, _ in notices(looks)] == [0, 5, 10, 15, 20]
