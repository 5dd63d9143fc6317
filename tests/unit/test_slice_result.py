"""What the result of a slice says, and when a slice counts as failed."""

from __future__ import annotations

import pytest

from lumos_queue.records import Ending, Outcome
from workers.slice_result import SliceResult

ANSWERED, LOST = Outcome("7", Ending.ANSWERED), Outcome(None, Ending.INFRA_ERROR, "failed 5 times")


def result(ended=(), failed=(), **fields) -> SliceResult:
    """Of a slice in which these items (outcomes) ended, and items after them failed for these reasons."""
    made = SliceResult(**fields)
    for item, outcome in enumerate(ended):
        made.note_end(item, outcome)
    for item, reason in enumerate(failed, len(ended)):
        made.note_failure(item, reason)
    return made


@pytest.mark.parametrize(
    ("slice_result", "has_failed", "words"),
    [
        (result(), False, "0 items finished; stopped: nothing was due"),
        (result([ANSWERED, None], why="it ends"), False, "2 items finished; stopped: it ends"),
        (
            result([ANSWERED], ["quota 1.", "quota 22."]),
            False,
            "1 item finished, 2 failed: quota 1; stopped: nothing was due",
        ),
        (
            result([ANSWERED], ["a", "b", "b"]),
            False,
            "1 item finished, 2 failed: b; 1 more failed for other reasons; stopped: nothing was due",
        ),
        (result([], ["quota", "quota"]), True, "failed: 0 items finished, 2 failed: quota"),
        (result([LOST]), True, "failed: 1 item finished, 1 failed: failed 5 times"),
        (result([LOST, ANSWERED]), False, "2 items finished, 1 failed: failed 5 times; stopped: nothing was due"),
        (result([ANSWERED], failure="endpoint: down."), True, "failed: endpoint: down; 1 item finished"),
        (result([], ["a\n\x1b[2Jb"]), True, "failed: 0 items finished, 1 failed: a \ufffd[2Jb"),
    ],
)
def test_a_slice_in_words(slice_result, has_failed, words):
    assert (slice_result.has_failed, str(slice_result)) == (has_failed, words)


def test_an_item_that_fails_several_times_in_a_slice_counts_once_with_its_latest_reason():
    made = result([], ["first"])
    made.note_failure(0, "second")
    assert str(made) == "failed: 0 items finished, 1 failed: second"
