"""What is added to "no difference is shown": only what a reader would else stumble over."""

from __future__ import annotations

import pytest

from lumos_queue.reports.comparison import explain_no_difference


@pytest.mark.parametrize(
    ("ci95", "tasks", "told"),
    [
        ((-0.1, 0.2), None, ""),
        ((0.007, 0.416), None, "leaves out 0"),
        ((-0.416, -0.007), None, "leaves out 0"),
        ((-0.1, 0.2), 3282, "3,282 tasks"),
    ],
)
def test_an_interval_beside_0_and_the_tasks_needed_are_told(ci95, tasks, told):
    said = explain_no_difference({"ci95": ci95, "tasks_for_power": tasks})
    assert told in said and bool(said) == bool(told)
    assert ("leaves out 0" in said) == (ci95[0] > 0 or ci95[1] < 0)
