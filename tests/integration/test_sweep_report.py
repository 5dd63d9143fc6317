"""A sweep's figures, from rows whose scores are known."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from db.queue.batch import Batch, FinishedItem
from db.queue.commit import commit
from db.queue.training_steps import insert_steps
from lumos_queue.records import Ending, Outcome, Score, Task, TrainingStep
from lumos_queue.scoring.statistics import compute_weighted_interval
from lumos_queue.sweeps.carry_out import SweepFit
from lumos_queue.sweeps.plan import SweepPlan
from lumos_queue.sweeps.plot import write_plot
from lumos_queue.sweeps.report import report_sweep
from tests.claims import claim, holder, new_job

PLAN = {
    "title": "Two formulations",
    "seeds": [0, 1],
    "formulations": ["direct", "integrated"],
    "annotations": {"gold": {"convert": "wordmath"}},
    "benchmarks": [{"name": "wordmath"}],
    "order": ["direct", "integrated"],
    "order_from": "a paper",
}
LABEL = "wordmath test"


def evaluated(database, number: int, right: str) -> str:
    """A job whose tasks were answered rightly (1), wrongly (0), or not judged (-)."""
    tasks = (Task("wordmath", "data", str(n), f"question {n} 3 4", gold={"answer": "7"}) for n in range(len(right)))
    job = new_job(database, rows=tuple(tasks), digest=f"{number:064x}")
    who = holder(database, job)
    for item, one in zip(claim(database, who, len(right)), right, strict=True):
        scores = () if one == "-" else (Score("accuracy", float(one)),)
        ending = Ending.INFRA_ERROR if one == "-" else Ending.ANSWERED
        commit(
            database, who, Batch({item.id: item.claim}, finished=[FinishedItem(item.id, Outcome("7", ending), scores)])
        )
    return job


def report(database, *verdicts: str):
    plan = SweepPlan.model_validate(PLAN)
    fits = [SweepFit(arm, seed) for arm in plan.arms() for seed in plan.seeds]
    for number, (fit, right) in enumerate(zip(fits, verdicts, strict=True)):
        if right:
            fit.evaluated[LABEL] = evaluated(database, number, right)
    with database.engine.connect() as connection:
        return report_sweep(connection, plan, fits, {"gold": 9})


def test_a_score_is_the_mean_of_the_seeds_and_tasks_are_clusters(database):
    found = report(database, "1100", "1000", "1111", "1110")
    direct, integrated = (row.scores[LABEL] for row in found.rows)
    assert (direct.value, direct.by_seed, direct.of) == (0.375, {0: 0.5, 1: 0.25}, 8)
    tasks = [(0, 1.0), (0, 1.0), (1, 1.0), (1, 0.0), (2, 0.0), (2, 0.0), (3, 0.0), (3, 0.0)]
    wanted = compute_weighted_interval([(task, value, 1.0) for task, value in tasks])
    assert wanted
    assert direct.ci95 == (round(wanted[1], 6), round(wanted[2], 6))
    as_if_independent = compute_weighted_interval([(place, value, 1.0) for place, (_, value) in enumerate(tasks)])
    assert as_if_independent
    assert direct.ci95[1] - direct.ci95[0] > as_if_independent[2] - as_if_independent[1]
    assert integrated.value == 0.875 and found.complete
    assert f"{LABEL}: the order is that of a paper" in found.remarks


def test_an_item_that_was_not_judged_counts_as_wrong_and_is_told(database):
    found = report(database, "11--", "1111", "1111", "1111")
    direct = found.rows[0].scores[LABEL]
    assert (direct.value, direct.judged, direct.of, direct.complete) == (0.75, 6, 8, False)
    assert not found.complete


@pytest.mark.parametrize(("low", "high", "sure"), [("1100", "1000", "overlap"), ("1" * 40, "0" * 40, "are apart")])
def test_another_order_than_expected_is_said(database, low, high, sure):
    found = report(database, low, low, high, high)
    assert f"{LABEL}: direct is above integrated, unlike in a paper; the intervals {sure}" in found.remarks


def test_a_fit_that_failed_is_not_run_and_is_told(database):
    plan = SweepPlan.model_validate(PLAN | {"seeds": [0]})
    job = new_job(database, tasks=0, kind="train", windows=1)
    fits = [SweepFit(arm, 0) for arm in plan.arms()]
    fits[0].trained["joint"], fits[0].failed["joint"] = job, "failed"
    fits[1].evaluated[LABEL] = evaluated(database, 1, "10")
    (item,) = claim(database, holder(database, job), 1)
    with database.writer.begin() as connection:
        insert_steps(connection, job, item.id, [TrainingStep("", step, 1.0, 0.1, 1.0, 500, 1) for step in (1, 2)])
    with database.engine.connect() as connection:
        found = report_sweep(connection, plan, fits, {"gold": 9})
    assert found.rows[0].scores == {} and found.rows[0].tokens == 1000
    assert f"direct, seed 0: its training job {job} is failed: lumos job {job}" in found.remarks
    assert not found.complete


def test_the_plot_has_every_arm_benchmark_and_rule(database, tmp_path):
    found = report(database, "1100", "1000", "1111", "")
    scores = {"direct <&>": found.rows[0].scores, "integrated": found.rows[1].scores}
    rules = {name: benchmark.rule for name, benchmark in found.benchmarks.items()}
    write_plot(found.title, rules, scores, tmp_path / "sweep.svg")
    texts = {
        "".join(one.itertext()).strip()
        for one in ElementTree.parse(tmp_path / "sweep.svg").iter("{http://www.w3.org/2000/svg}text")
    }
    assert {"Two formulations", LABEL, "direct <&>", "integrated"} <= texts
    first = (tmp_path / "sweep.svg").read_bytes()
    write_plot(found.title, rules, scores, tmp_path / "sweep.svg")
    assert (tmp_path / "sweep.svg").read_bytes() == first
