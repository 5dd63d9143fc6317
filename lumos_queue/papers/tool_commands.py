"""Write the commands that are needed to reproduce a figure of tool agents, with the ids of stored jobs."""

from __future__ import annotations

from db.kinds.states import JobState
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.tool_matching import ToolEvaluation, ToolJobs
from lumos_queue.papers.tool_results import ToolMethod, ToolRow, ToolTable


def needs(table: ToolTable, row: ToolRow, subset: str, jobs: ToolJobs) -> tuple[str, list[str]]:
    """Return what the figure of a row and a subset needs, as text, and the needed commands in order."""
    if row.against is None:
        words, commands = _own_words(table, row.method, subset, jobs.find_evaluation(table, row.method, subset))
    else:
        words, commands = _pair_words(table, row.method, row.against, subset, jobs)
    models = f"{table.models[0]} in each role and {table.judge} as judge"
    return f"needs {'; '.join([*words, *commands])} ({models})", commands


def _own_words(
    table: ToolTable, method: ToolMethod, subset: str, evaluation: ToolEvaluation | None
) -> tuple[list[str], list[str]]:
    """Return which jobs must end first, as texts, and the commands for a figure of a single method."""
    if evaluation is None:
        return [], [_evaluate(table, method, subset), _judge(table, "JOB")]
    return _waits(evaluation), [_judge(table, evaluation.job.id)]


def _pair_words(
    table: ToolTable, method: ToolMethod, against: ToolMethod, subset: str, jobs: ToolJobs
) -> tuple[list[str], list[str]]:
    """Return which jobs must end first, as texts, and the commands for a figure that compares two methods."""
    if pair := jobs.find_pair(table, method, against, subset):
        first, second = pair
        return [*_waits(first), *_waits(second)], [_judge(table, first.job.id, second.job.id)]
    evaluations = [jobs.find_evaluation(table, tool_method, subset) for tool_method in (method, against)]
    missing_methods = [
        tool_method
        for tool_method, evaluation in zip((method, against), evaluations, strict=True)
        if evaluation is None
    ]
    names = [
        name if evaluation is None else evaluation.job.id
        for evaluation, name in zip(evaluations, ("JOB", "OTHER_JOB"), strict=True)
    ]
    if not missing_methods:  # both are stored, but on different rows
        missing_methods, names = [method, against], ["JOB", "OTHER_JOB"]
        words = [
            "the same rows in both: now jobs "
            f"{' and '.join(evaluation.job.id for evaluation in evaluations if evaluation)} have different rows"
        ]
    else:
        words = [word for evaluation in evaluations if evaluation is not None for word in _waits(evaluation)]
    return words, [*(_evaluate(table, tool_method, subset) for tool_method in missing_methods), _judge(table, *names)]


def _waits(evaluation: ToolEvaluation) -> list[str]:
    """Return a text about an evaluation that must end first; [] if it has ended."""
    if evaluation.job.state == JobState.DONE:
        return []
    return [f"the end of job {evaluation.job.id}, which is {evaluation.job.state}"]


def _evaluate(table: ToolTable, method: ToolMethod, subset: str) -> str:
    formulation = FORMULATIONS.load(method.formulation)
    words = ["lumos evaluate toolbench --data", table.data, "--split", subset, "--formulation", formulation.name]
    for name, value in (*method.settings.items(), *method.published.items()):
        if formulation.settings[name].default != value:
            words += ["--setting", f"{name}={value}"]
    for role in formulation.roles:
        words += ["--role", f"{role}=URL"]
    return " ".join([*words, "--tool records=FILE", "--published"])


def _judge(table: ToolTable, job: str, against: str = "") -> str:
    words = ["lumos judge", job, *(["--against", against] if against else [])]
    return " ".join([*words, "--votes", str(table.votes), "--role judge=URL"])
