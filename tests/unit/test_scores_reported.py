"""What an evaluation's scores come to, to the digit: complete, with items that nobody judged, over sets and samples."""

from __future__ import annotations

from types import SimpleNamespace

from lumos_queue.records import Task
from lumos_queue.reports.baselines import compute_baselines
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.scores import scores
from lumos_queue.scoring.statistics import wilson


def tasks(count: int, **inputs) -> dict[int, Task]:
    return {number: Task("b", "d", str(number), "?", dict(inputs)) for number in range(count)}


def job(items: int, **spec) -> SimpleNamespace:
    return SimpleNamespace(items=items, spec=spec)


def rounded(*numbers: float) -> list[float]:
    return [round(number, 6) for number in numbers]


def test_a_complete_report_gives_each_metric_its_wilson_interval():
    values = {"accuracy": [(0, 1.0, 1), (1, 0.0, 1), (2, 1.0, 1)], "strict": [(0, 0.5, 1)]}
    found = as_json(scores(job(3), values, ("accuracy", "strict", "f1"), tasks(3)))
    accuracy = {"value": 0.666667, "ci95": rounded(*wilson(2, 3)), "of": 3}
    assert found["metrics"]["accuracy"] == accuracy
    assert (found["metrics"]["strict"]["value"], found["metrics"]["strict"]["of"]) == (0.5, 1)
    del found["metrics"]
    assert found == {"metric": "accuracy", "value": 0.666667, "ci95": accuracy["ci95"], "complete": True, "correct": 2}


def test_what_nobody_judged_counts_as_wrong_and_widens_the_interval():
    found = as_json(scores(job(4), {"accuracy": [(0, 1.0, 1), (1, 0.0, 1), (2, 1.0, 1)]}, ("accuracy",), tasks(4)))
    assert (found["value"], found["complete"], found["correct"], found["bounds"]) == (0.5, False, 2, [0.5, 0.75])
    assert found["ci95"] == rounded(wilson(2, 4)[0], wilson(3, 4)[1])
    assert found["metrics"]["accuracy"]["of"] == 4
    nothing = as_json(scores(job(2), {}, ("accuracy",), tasks(2)))
    assert (nothing["value"], nothing["bounds"], nothing["metrics"]) == (0.0, [0.0, 1.0], {})


def test_the_samples_that_are_owed_are_those_of_the_job_or_of_what_it_evaluates():
    values = {"accuracy": [(0, 1.0, 1)]}
    for spec in ({"samples": 3}, {"infer": {"samples": 3}}):
        found = as_json(scores(job(3, **spec), values, ("accuracy",), tasks(1)))
        assert (found["value"], found["bounds"]) == (0.333333, [0.333333, 1.0]), spec
        assert found["metrics"]["accuracy"]["of"] == 3
    assert scores(job(2), values, ("accuracy",), tasks(2)).metrics["accuracy"].of == 2


def test_scores_between_right_and_wrong_are_not_counted_as_correct():
    assert scores(job(2), {"f1": [(0, 1.0, 1), (1, 0.5, 1)]}, ("f1",), tasks(2)).correct is None
    assert scores(job(1), {"accuracy": [(0, 1.0, 2)]}, ("accuracy",), tasks(1)).correct is None


def test_tasks_of_several_sets_weigh_more_and_each_set_has_its_mean():
    drawn = tasks(3)
    for number, sets in enumerate(([0, 1], [0], [1])):
        drawn[number].inputs["sets"] = sets
    found = as_json(scores(job(3), {"accuracy": [(0, 1.0, 1), (1, 0.0, 1), (2, 1.0, 1)]}, ("accuracy",), drawn))
    assert found["value"] == 0.75
    assert found["metrics"]["accuracy"]["sets"] == {"means": [0.5, 1.0], "spread": 0.3535533905932738}
    assert found["metrics"]["accuracy"]["of"] == 3
    owed = as_json(scores(job(3), {"accuracy": [(0, 1.0, 1), (1, 0.0, 1)]}, ("accuracy",), drawn))
    assert owed["bounds"] == [0.5, 0.75] and "sets" not in owed["metrics"]["accuracy"]


def test_rules_without_a_model_are_weighted_as_the_agent_is_and_steps_alike():
    drawn = list(tasks(2).values())
    drawn[0].inputs["sets"] = [0, 1]
    benchmark = SimpleNamespace(baselines=lambda tasks: {"of tasks": [True, False], "of steps": [True, False, True]})
    found = as_json(compute_baselines(benchmark, drawn))
    assert found["of tasks"]["value"] == 0.666667
    assert found["of steps"] == {"value": 0.666667, "ci95": rounded(*wilson(2, 3))}
    nothing = SimpleNamespace(baselines=lambda tasks: {"of nothing": []})
    assert as_json(compute_baselines(nothing, [])) == {"of nothing": {"value": 0.0, "ci95": [0.0, 1.0]}}
