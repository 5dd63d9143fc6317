"""What is added to "no difference is shown": only what a reader would else stumble over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lumos_queue.pages.sections.comparison import explain_no_difference
from lumos_queue.reports.comparison_values import Mean, PairFigures

FIGURES = PairFigures(
    pairs=10,
    binary=True,
    fixed=4,
    broken=1,
    tasks=10,
    better=4,
    worse=1,
    clustered=False,
    value_a=Mean(0.2, (0.1, 0.4)),
    value_b=Mean(0.5, (0.3, 0.7)),
    difference=0.3,
    equal=5,
    p=0.4,
    test="McNemar, exact",
    interval="Tango",
    tasks_for_power=None,
    ci95=(-0.1, 0.2),
)


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
    said = explain_no_difference(replace(FIGURES, ci95=ci95, tasks_for_power=tasks))
    assert told in said and bool(said) == bool(told)
    assert ("leaves out 0" in said) == (ci95[0] > 0 or ci95[1] < 0)
