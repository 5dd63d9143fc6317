"""The figures that a judge's job gives beside a published figure: by ToolEval's own rule, as far as the votes allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.results import values_by_metric
from db.queries.tasks import load_keyed_tasks
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.execution.prefill import source_row
from lumos_queue.papers.tool_matching import VERDICTS
from lumos_queue.reports.score_values import Metric
from lumos_queue.reports.scores import scores
from lumos_queue.reports.tool_rules import PASS, WIN, group_by_row, read_rules, rule_figures
from lumos_queue.scoring.tooleval import OUR_RULE, TOOLEVAL_RULE


@dataclass(frozen=True, slots=True)
class Judgements:
    """The scores that a judge's job gives to the runs that it judges."""

    metrics: dict[str, Metric]
    values: dict[str, list[tuple[str, float]]]  #: metric to (row of the task, value), one for each judged run
    rules: dict[str, str]  #: metric to the name of the rule by which it was counted, if rules differ in it
    remarks: dict[str, str]  #: metric to a remark, if it was not counted as the published figure


def read_judgements(connection: Connection, job: StoredJob) -> Judgements:
    """Return the judgements of a job."""
    stored_values, tasks = values_by_metric(connection, job.id), load_keyed_tasks(connection, job.id)
    metrics = dict(scores(job, stored_values, open_benchmark(VERDICTS).metrics, tasks).metrics)
    values = {
        name: [(source_row(tasks[task]), value) for task, value, _ in rows] for name, rows in stored_values.items()
    }
    rules = read_rules(connection, job, tasks)
    rates = rule_figures(job, rules, tasks).get(TOOLEVAL_RULE.name)
    figures: Mapping[str, Metric] = rates.figures if rates else {}
    rule_names, remarks = dict[str, str](), dict[str, str]()
    for metric in (PASS, WIN):
        lacking = (rates.lacking or 0) if rates and metric == WIN else 0
        if metric in figures and not lacking:
            metrics[metric] = figures[metric]
            values[metric] = group_by_row(rules[TOOLEVAL_RULE.name], tasks)[metric]
            rule_names[metric] = TOOLEVAL_RULE.name
            if metric == PASS and (missing_runs := rules[TOOLEVAL_RULE.name].missing):
                remarks[metric] = f"{missing_runs:,} runs without a result count as failed, which ToolEval leaves out"
        elif metric in metrics:
            rule_names[metric] = OUR_RULE.name
            remarks[metric] = (
                f"other rule: counted by rule={OUR_RULE.name}, as {lacking:,} runs lack votes that "
                f"rule={TOOLEVAL_RULE.name} needs"
            )
    return Judgements(metrics, values, rule_names, remarks)
