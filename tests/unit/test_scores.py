"""What an evaluation's scores come to, by hand: trials, samples, sample sets, and what was not judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lumos_queue.records import Task
from lumos_queue.reports.baselines import compute_baselines
from lumos_queue.reports.completeness import Completeness, completeness, remark
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.scores import scores
from lumos_queue.scoring.statistics import Stratum, cohen_kappa, compute_weighted_interval, estimate_share, wilson


def tasks(count: int, **sets: list[int]) -> dict[int, Task]:
    """Keys 1 to `count`; `t2=[1, 3]` says that task 2 was drawn into the sample sets 1 and 3."""
    drawn = {int(name[1:]): numbers for name, numbers in sets.items()}
    return {key: Task("b", "d", str(key), "q", {"sets": drawn[key]} if drawn else {}) for key in range(1, count + 1)}


def report(values, keyed, items: int, **spec: Any) -> dict[str, Any]:
    return as_json(scores(SimpleNamespace(items=items, spec=spec), {"m": values}, ("m",), keyed))


def test_a_metric_of_steps_is_a_mean_over_trials():
    found = report([(1, 0.5, 2), (2, 1.0, 6)], tasks(2), 2)
    assert found["value"] == pytest.approx(7 / 8) and found["metrics"]["m"]["of"] == 8
    assert found["complete"] and "bounds" not in found
    assert "correct" not in found, "half a task is not right"
    whole = report([(1, 1.0, 3), (2, 0.0, 1)], tasks(2), 2)
    assert "correct" not in whole, "three steps of one task are no three tasks"
    assert report([(1, 1.0, 1), (2, 0.0, 1)], tasks(2), 2)["correct"] == 1


def test_what_was_not_judged_counts_as_wrong_for_the_value_and_as_both_for_the_bounds():
    found = report([(1, 1.0, 1), (2, 1.0, 1)], tasks(4), 4)
    assert (found["value"], found["bounds"], found["complete"]) == (0.5, [0.5, 1.0], False)
    assert found["ci95"] == pytest.approx([wilson(2, 4)[0], wilson(4, 4)[1]], abs=1e-6), "from the worst to the best"
    assert found["metrics"]["m"]["of"] == 4


def test_so_many_samples_are_owed_as_are_missing_and_of_the_tasks_that_lack_them():
    """Two samples of each task; a metric that two episodes have no score of though nothing is missing of a task."""
    found = report([(1, 1.0, 1), (1, 1.0, 1), (2, 1.0, 1)], tasks(2), 4, samples=2)
    assert found["value"] == 0.75 and found["bounds"] == [0.75, 1.0] and found["metrics"]["m"]["of"] == 4
    expected = compute_weighted_interval([(1, 1.0, 1.0), (1, 1.0, 1.0), (2, 1.0, 1.0), (2, 0.0, 1.0)])
    assert found["ci95"][0] == pytest.approx(expected[1], abs=1e-6), "the missing sample belongs to the second task"
    limited = report([(1, 1.0, 1)], tasks(5), 2)
    assert limited["value"] == 0.5, "of a job of two items not five tasks are owed"
    assert report([(1, 1.0, 1)], tasks(2), 2, infer={"samples": 1})["value"] == 0.5


def test_what_is_owed_is_as_heavy_as_what_was_judged():
    found = report([(1, 1.0, 4), (2, 0.5, 2)], tasks(3), 3)
    assert found["value"] == pytest.approx(5 / 9) and found["bounds"] == pytest.approx([5 / 9, 8 / 9], abs=1e-6)
    assert found["metrics"]["m"]["of"] == 9


def test_a_task_counts_in_each_of_its_sample_sets():
    keyed = tasks(3, t1=[1, 2], t2=[1], t3=[2])
    found = report([(1, 1.0, 1), (2, 0.0, 1), (3, 0.0, 1)], keyed, 3)
    assert found["value"] == 0.5 and list(found["metrics"]["m"]["sets"]["means"]) == [0.5, 0.5]
    owed = report([(2, 0.0, 1), (3, 1.0, 1)], keyed, 3)
    assert owed["value"] == 0.25 and owed["bounds"] == [0.25, 0.75], "the missing one would count twice"
    assert "sets" not in owed["metrics"]["m"]


def test_baselines_are_weighted_as_the_agent_is():
    class Rules:
        def baselines(self, found):
            return {"first": [task.row == "1" for task in found], "steps": [True, False, False, False]}

    keyed = tasks(3, t1=[1, 2], t2=[1], t3=[2])
    found = as_json(compute_baselines(Rules(), list(keyed.values())))
    assert found["first"]["value"] == 0.5, "the first task was drawn twice"
    assert found["steps"]["value"] == 0.25, "one for each step is no one for each task"
    assert compute_baselines(Rules(), list(tasks(3).values()))["first"].value == pytest.approx(1 / 3, abs=1e-6)


def test_a_job_is_incomplete_by_items_and_by_refusals_and_says_how_to_go_on_once_it_has_ended():
    def measure(state: str, items: dict[str, int], endings: dict[str, int]) -> Completeness:
        return completeness(SimpleNamespace(state=state, id="abc", waiting="why"), items, endings)

    def of(state: str, items: dict[str, int], endings: dict[str, int]) -> dict[str, Any]:
        return as_json(measure(state, items, endings))

    assert of("done", {"done": 5, "owed": 0}, {"answered": 5}) == {"complete": True}
    assert of("running", {"done": 4, "owed": 1}, {"answered": 4}) == {"complete": False}, "it goes on by itself"
    assert of("running", {"done": 5}, {"infra_error": 1}) == {"complete": False}
    for state in ("done", "cancelled"):
        found = of(state, {"done": 4, "quarantined": 1}, {"answered": 2, "infra_error": 2})
        assert found == {
            "complete": False,
            "lacking": {"quarantined": 1, "infra_error": 2},
            "go_on": "lumos resume abc",
        }
    assert remark(measure("done", {"done": 4, "quarantined": 1}, {"answered": 2, "infra_error": 2})) == (
        "incomplete: 2 of its items ended with infra_error, 1 of its items quarantined. Continue with: lumos resume abc"
    )
    for state in ("failed", "paused"):
        found = of(state, {"done": 4, "owed": 1}, {})
        assert found == {
            "complete": False,
            "lacking": {"owed": 1},
            "go_on": "lumos resume abc",
            "state": state,
            "reason": "why",
        }
    assert remark(measure("done", {"done": 5}, {"answered": 5})) == ""


def test_an_interval_is_never_surer_than_its_clusters_nor_wider_than_seen():
    agreeing = [(cluster, 0.5, 1.0) for cluster in range(4)]
    share, low, high = compute_weighted_interval(agreeing)
    assert share == 0.5
    # No deviation at all: the variance is that of four clusters of eight, half of what zeros and ones would have.
    assert (low, high) == pytest.approx(_wilson_at(0.5, 8.0), abs=1e-9)
    apart = [(cluster, float(cluster % 2), 1.0) for cluster in range(4)]
    assert compute_weighted_interval(apart)[1:] == pytest.approx(wilson(2, 4), abs=1e-9)
    heavy = [(0, 0.0, 3.0), *((cluster, 1.0, 1.0) for cluster in range(1, 5))]
    # By hand: share 4/7, deviations -12/7 and four of 3/7, variance 180/49/49; not drawn towards the smaller one.
    expected = _wilson_at(4 / 7, (4 / 7) * (3 / 7) / (180 / 49 / 49))
    assert compute_weighted_interval(heavy)[1:] == pytest.approx(expected, abs=1e-9)


def _wilson_at(share: float, size: float, z: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval from its definition: the shares p for which (share - p)² = z² p (1 - p) / size."""
    a, b, c = 1 + z * z / size, -(2 * share + z * z / size), share * share
    root = (b * b - 4 * a * c) ** 0.5
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def test_a_stratified_share_believes_no_more_than_the_weights_allow():
    """Strata that each agree with themselves have no variance: the size is Kish's, 1 / Σ W² / n."""
    share, low, high = estimate_share([Stratum(100, 5, 5), Stratum(100, 5, 0)])
    assert (share, low, high) == pytest.approx((0.5, *_wilson_at(0.5, 10.0)), abs=1e-9)
    nearly = [Stratum(100, 50, 49), Stratum(100, 50, 1)]
    assert estimate_share(nearly)[1:] == pytest.approx(_wilson_at(0.5, 100.0), abs=1e-9), "never more than that"


def test_kappa_is_undefined_where_both_say_one_and_the_same_and_0_where_each_says_its_own():
    assert cohen_kappa([("right", "right")] * 3) is None and cohen_kappa([]) is None
    assert cohen_kappa([("right", "wrong")] * 3) == 0.0
