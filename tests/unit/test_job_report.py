"""The report of a job as a value, and the keys of its JSON, which programs read."""

from __future__ import annotations

from lumos_queue.reports.adopted_figures import AdoptedFigures
from lumos_queue.reports.completeness import Completeness
from lumos_queue.reports.cost import ModelCost
from lumos_queue.reports.episode_figures import EpisodeFigures, Problem
from lumos_queue.reports.failures import FailureClass
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.judge import JudgeFigures
from lumos_queue.reports.provenance import ClassScores
from lumos_queue.reports.score_values import JobScores, Metric
from lumos_queue.reports.tool_rules import RuleFigures
from lumos_queue.reports.totals import ModelUse, Tokens
from lumos_queue.reports.training import TrainingFigures, TrainingPart
from tests.unit.reports import empty_report

HEAD = [
    *("job", "kind", "state", "waiting", "benchmark", "split", "formulation", "n", "finished", "items"),
    *("seconds", "code_version", "plugins", "seed", "complete"),
]
METRIC = Metric(0.5, (0.2, 0.8), 4)
SCORES = JobScores(metric="accuracy", value=0.5, ci95=(0.2, 0.8), complete=True, metrics={"accuracy": METRIC}, judged=4)
EPISODES = EpisodeFigures(
    endings={"answered": 3, "infra_error": 1},
    code_versions=[],
    prompts={},
    use=ModelUse(7, Tokens(50, 6)),
    phases={},
    latency={},
    calls_by_ending=[],
    problems=[Problem("limit", "no room", 1), Problem("", "no reply", 2, 3)],
)


def test_a_part_that_a_job_does_not_have_has_no_key():
    assert list(as_json(empty_report())) == HEAD


def test_parts_of_episodes_and_scores_are_keys_of_the_report_in_a_fixed_order():
    cost = ModelCost(0.25, 0.0, (1.0, 2.0))
    report = as_json(empty_report(scores=SCORES, baselines={}, episodes=EPISODES, cost=cost, parent="abcdefgi"))
    assert list(report) == [
        *HEAD,
        *("parent", "cost", "endings", "code_versions", "prompts", "calls", "tokens", "phases", "latency"),
        *("calls_by_ending", "problems", "metric", "value", "ci95", "metrics", "baselines"),
    ]
    assert (report["calls"], report["tokens"]) == (7, {"prompt": 50, "completion": 6})
    assert report["metrics"] == {"accuracy": {"value": 0.5, "ci95": [0.2, 0.8], "of": 4}}
    assert report["problems"] == [
        {"ending": "limit", "message": "no room", "episodes": 1},
        {"ending": "", "message": "no reply", "episodes": 2, "replies": 3},
    ]


def test_answers_without_a_grade_change_the_keys_of_an_incomplete_job_where_they_are():
    stopped = Completeness(complete=False, lacking={"quarantined": 1}, go_on="lumos resume a")
    graded = Completeness(complete=False, lacking={"quarantined": 1, "ungraded": 2}, go_on="lumos resume a")
    report = empty_report(scores=SCORES, episodes=EPISODES, finished=9, ungraded=graded, completeness=stopped)
    keys = as_json(report)
    assert list(keys)[14:17] == ["complete", "lacking", "go_on"]
    assert keys["complete"] is False and keys["lacking"] == {"quarantined": 1, "ungraded": 2}
    assert report.result == graded


def test_answers_without_a_grade_are_no_results_while_the_job_runs_either():
    figures = {name: 0 for name in ("grades", "votes", "answers", "graded", "without_answer", "read", "unreadable")}
    figures |= {name: 0 for name in ("missing", "again", "ties", "calls", "retries")}
    judge = JudgeFigures(ungraded=2, tokens=Tokens(0, 0), **figures)
    assert empty_report(episodes=EPISODES, finished=9, judge=judge).results == 9 - 1 - 2
    assert empty_report(episodes=EPISODES, finished=9).results == 9 - 1


def test_answers_without_a_grade_add_keys_to_a_job_that_was_complete_without_them():
    graded = Completeness(complete=False, lacking={"ungraded": 2}, go_on="lumos score a --judge URL")
    keys = as_json(empty_report(scores=SCORES, ungraded=graded))
    assert keys["complete"] is False and list(keys)[-2:] == ["lacking", "go_on"]


def test_keys_that_are_words_of_python_are_written():
    adopted = AdoptedFigures(3, 5, "abcdefgi", ModelUse(7, Tokens(50, 6)))
    report = as_json(empty_report(adopted=adopted, failures=[FailureClass("outage", 2, "lumos resume a")]))
    tokens = {"prompt": 50, "completion": 6}
    assert report["adopted"] == {"episodes": 3, "of": 5, "from": "abcdefgi", "calls": 7, "tokens": tokens}
    assert report["failures"] == [{"class": "outage", "items": 2, "go_on": "lumos resume a"}]


def test_metrics_of_a_class_and_rates_of_a_rule_are_keys_beside_their_counts():
    metric = {"value": 0.5, "ci95": [0.2, 0.8], "of": 4}
    report = as_json(
        empty_report(
            rules={"ours": RuleFigures({"win": METRIC}, 2), "tooleval": RuleFigures({})},
            by_provenance={"live": ClassScores(4, {"pass": METRIC}), "no score": ClassScores(1)},
        )
    )
    assert report["rules"] == {"ours": {"win": metric, "lacking": 2}, "tooleval": {}}
    assert report["by_provenance"] == {"live": {"n": 4, "pass": metric}, "no score": {"n": 1}}


def test_the_stored_output_of_a_part_of_a_training_is_written_whole():
    part = TrainingPart(3, {"fit": "a", "step": 20, "loss": None, "checkpoint": "folder"})
    report = as_json(empty_report(training=TrainingFigures([part], None, None, None, None)))
    assert report["windows"] == [{"item": 3, "fit": "a", "step": 20, "loss": None, "checkpoint": "folder"}]
    assert "fits" not in report and (part.step, part.loss, part.dev_loss) == (20, None, None)
