"""Scores by group, and overall scores: every item counts once, also those that are not judged."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.records import Task
from lumos_queue.reports.groups import measure_overall, measure_overalls, split_by_group
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.score_values import MissingOverall

TASKS = {
    key: Task("b", "", str(key), "", {}, {"kind": kind, "metric": metric})
    for key, (kind, metric) in enumerate([("a", "ssim"), ("a", "chrf"), ("b", "chrf"), ("b", "chrf"), ("b", "")])
}


class Grouped(Benchmark):
    groups = {"kind": lambda task: task.gold["kind"]}  # noqa: RUF012
    overalls = {"proxies": lambda task: task.gold["metric"]}  # noqa: RUF012


def job(samples: int = 1) -> SimpleNamespace:
    return SimpleNamespace(spec={"infer": {"samples": samples}}, items=len(TASKS) * samples)


VALUES = {
    "feasible": [(0, 1.0, 1), (1, 0.0, 1), (2, 1.0, 1), (3, 1.0, 1), (4, 1.0, 1)],
    "ssim": [(0, 0.5, 10)],
    "chrf": [(1, 0.0, 10), (2, 0.9, 10), (3, 0.6, 10)],
}


def groups_of(*arguments: Any) -> dict[str, Any]:
    return as_json(split_by_group(*arguments))


def overalls_of(*arguments: Any) -> dict[str, Any]:
    return as_json(measure_overalls(*arguments))


def test_groups_have_all_their_items_and_only_the_metrics_that_apply():
    groups = groups_of(job(), VALUES, Grouped(), TASKS)["kind"]
    assert {name: found["n"] for name, found in groups.items()} == {"a": 2, "b": 3}
    assert groups["a"]["metrics"]["feasible"]["value"] == 0.5 and groups["b"]["metrics"]["feasible"]["value"] == 1
    assert "ssim" not in groups["b"]["metrics"] and groups["b"]["metrics"]["chrf"]["value"] == 0.75
    assert groups["b"]["overall"]["proxies"]["over_tasks"]["n"] == 2, "a task that no metric judges is in no overall"


def test_overall_over_metrics_weighs_metrics_and_over_tasks_weighs_tasks():
    found = overalls_of(job(), VALUES, Grouped(), TASKS)["proxies"]
    assert found["over_metrics"]["value"] == pytest.approx((0.5 + 0.5) / 2) and found["over_metrics"]["n"] == 2
    assert found["over_tasks"]["value"] == pytest.approx((0.5 + 0.0 + 0.9 + 0.6) / 4) and found["over_tasks"]["n"] == 4
    assert found["items"] == {"ssim": 1, "chrf": 3}
    for one in ("over_metrics", "over_tasks"):
        low, high = found[one]["ci95"]
        assert 0 <= low < found[one]["value"] < high <= 1 and "bounds" not in found[one]


def test_a_metric_of_few_tasks_weighs_as_much_as_one_of_many():
    found = overalls_of(job(), VALUES | {"ssim": [(0, 1.0, 10)]}, Grouped(), TASKS)["proxies"]
    assert found["over_metrics"]["value"] == pytest.approx((1.0 + 0.5) / 2)
    assert found["over_tasks"]["value"] == pytest.approx((1.0 + 0.0 + 0.9 + 0.6) / 4)


def test_tasks_of_one_row_are_not_independent():
    """The interval is of the rows that were drawn: the same figures of fewer rows are less sure."""
    one_row = {key: replace(task, inputs={"from": {"row": str(key % 2)}}) for key, task in TASKS.items()}
    apart, together = (overalls_of(job(), VALUES, Grouped(), tasks)["proxies"] for tasks in (TASKS, one_row))
    assert apart["over_tasks"]["value"] == together["over_tasks"]["value"]
    assert width(together["over_tasks"]) > width(apart["over_tasks"])


def width(found: dict) -> float:
    low, high = found["ci95"]
    return high - low


def test_groups_are_sorted_and_an_item_that_is_judged_twice_counts_once():
    backwards = dict(reversed(TASKS.items()))
    groups = groups_of(job(), VALUES, Grouped(), backwards)["kind"]
    assert list(groups) == ["a", "b"]
    twice = VALUES | {"chrf": [*VALUES["chrf"], (1, 1.0, 11)]}
    found = overalls_of(job(), twice, Grouped(), TASKS)["proxies"]
    assert found["over_tasks"]["n"] == 4 and found["over_tasks"]["value"] == pytest.approx(0.5)


def test_items_that_are_not_judged_count_as_wrong_and_bounds_say_what_they_could_be():
    values = VALUES | {"chrf": VALUES["chrf"][:2], "feasible": VALUES["feasible"][:3]}
    groups, overalls = (of(job(), values, Grouped(), TASKS) for of in (groups_of, overalls_of))
    over = overalls["proxies"]["over_tasks"]
    assert over["n"] == 4 and over["value"] == pytest.approx(1.4 / 4) and over["bounds"] == [0.35, 0.6]
    low, high = over["ci95"]
    right = overalls_of(job(), values | {"chrf": [*values["chrf"], (3, 1.0, 1)]}, Grouped(), TASKS)
    assert low < 0.35 and high == right["proxies"]["over_tasks"]["ci95"][1], "as if all of them were right"
    assert groups["kind"]["b"]["metrics"]["feasible"]["bounds"] == [pytest.approx(1 / 3, abs=1e-5), 1.0]
    assert "bounds" not in groups["kind"]["a"]["metrics"]["feasible"]


def test_every_sample_of_a_task_is_an_item():
    groups, overalls = (of(job(samples=2), VALUES, Grouped(), TASKS) for of in (groups_of, overalls_of))
    assert overalls["proxies"]["over_tasks"]["n"] == 8 and groups["kind"]["b"]["n"] == 6


def test_without_a_metric_there_is_no_figure_in_its_place():
    values = {name: found for name, found in VALUES.items() if name != "ssim"}
    metric_of = Grouped.overalls["proxies"]
    assert measure_overall(values, TASKS, metric_of, 1) == MissingOverall(["ssim"])


def test_other_benchmarks_have_neither():
    assert groups_of(job(), VALUES, Benchmark(), TASKS) == {} == overalls_of(job(), VALUES, Benchmark(), TASKS)
