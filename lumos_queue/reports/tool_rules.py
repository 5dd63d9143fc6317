"""The pass and win rates of a judge's job by both rules of ToolEval, computed from the stored votes of its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from db.engine.connection import Connection
from db.queries.tool_figures import list_answers
from db.queue.stored_jobs import StoredJob
from lumos_queue.execution.prefill import source_row
from lumos_queue.prompts.judged_run import JudgedRun
from lumos_queue.records import Task
from lumos_queue.reports.json_values import MERGED, OPTIONAL
from lumos_queue.reports.score_values import Metric
from lumos_queue.reports.scores import measure_metric
from lumos_queue.scoring.tool_verdicts import ToolVerdict
from lumos_queue.scoring.tooleval import OUR_RULE, RULES, Rule

PASS, WIN, WON, TIED = "tooleval_pass", "win", "won", "tied"  #: `win` is `won` and half of `tied`
BY_RULE = (PASS, WIN)  #: the stored metrics in which rules differ; what is stored is by the rule `ours`
#: (task, value from 0 to 1, number of trials, which is 1), as in reports/scores.py
Values = list[tuple[int, float, int]]


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """The rates of a judge's job by a rule."""

    figures: Mapping[str, Metric] = field(metadata=MERGED)  #: by PASS, WIN, WON, TIED, if there are such runs
    lacking: int | None = field(default=None, metadata=OPTIONAL)  #: as in RuleValues; None if no run lacks votes


@dataclass(slots=True)
class RuleValues:
    """The values of a job's runs by a rule."""

    by_figure: dict[str, Values] = field(default_factory=dict)
    lacking: int = 0  #: compared runs whose stored votes do not determine the result by this rule
    missing: int = 0  #: runs without a result, which count as failed


def read_rules(connection: Connection, job: StoredJob, tasks: Mapping[int, Task]) -> dict[str, RuleValues]:
    """Return the values of a judge's job by each rule, by the rule's name. `tasks` are the job's, by key."""
    verdicts = [
        (task, _complete(ToolVerdict.from_text(answer), tasks[task]))
        for task, answer in list_answers(connection, job.id)
    ]
    return {rule.name: _apply(rule, verdicts) for rule in RULES}


def rule_figures(job: StoredJob, rules: Mapping[str, RuleValues], tasks: Mapping[int, Task]) -> dict[str, RuleFigures]:
    """Return the rates with intervals by the rule's name; {} if no rule gives a rate.

    Runs whose votes do not determine a result may be won, lost or tied: the figure has bounds.
    """
    rates: dict[str, RuleFigures] = {}
    for name, rule in rules.items():
        pass_values = rule.by_figure.get(PASS, [])
        unjudged = job.items - len(pass_values)
        figures = {
            figure: measure_metric(job, values, unjudged + (0 if figure == PASS else rule.lacking), tasks)
            for figure, values in rule.by_figure.items()
        }
        rates[name] = RuleFigures(figures, rule.lacking or None)
    return rates if any(rule.figures or rule.lacking for rule in rates.values()) else {}


def label_metric(metric: str, has_rules: bool) -> str:
    """Return the name of a stored metric for people; with its rule, if the report has rules that differ in it."""
    name = metric.replace("_", " ")
    return f"{name}, rule={OUR_RULE.name}" if metric in BY_RULE and has_rules else name


def group_by_row(rule: RuleValues, tasks: Mapping[int, Task]) -> dict[str, list[tuple[str, float]]]:
    """Return (row of the task, value) of each run, by figure."""
    return {
        figure: [(source_row(tasks[task]), value) for task, value, _ in values]
        for figure, values in rule.by_figure.items()
    }


def _complete(verdict: ToolVerdict, task: Task) -> ToolVerdict:
    """Return the verdict with what two runs have in common, which versions 1 to 3 did not store, from the task."""
    if verdict.similarity is not None or verdict.opponent is None:
        return verdict
    if not {"run", "against"} <= task.inputs.keys():
        return verdict
    own_run, other_run = (JudgedRun.from_json(task.inputs[name]) for name in ("run", "against"))
    return replace(verdict, similarity=own_run.compare(other_run))


def _apply(rule: Rule, verdicts: Sequence[tuple[int, ToolVerdict]]) -> RuleValues:
    values = RuleValues()
    for task, verdict in verdicts:
        scores = {PASS: rule.count_pass(verdict.verdict.votes)}
        if (result := rule.compare(verdict)) is not None:
            scores |= {WIN: result.win, WON: result.won, TIED: result.tied}
        values.lacking += rule.lacks_votes(verdict)
        values.missing += verdict.verdict.is_missing
        for figure, value in scores.items():
            values.by_figure.setdefault(figure, []).append((task, value, 1))
    if values.lacking:
        for figure in (WIN, WON, TIED):
            values.by_figure.setdefault(figure, [])
    return values
