"""What a figure of tool agents needs to be run: the commands, with the ids of what is stored already."""

from __future__ import annotations

from db.states import JobState
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.tool_matching import ToolEvaluation, ToolJobs
from lumos_queue.papers.tool_results import ToolMethod, ToolRow, ToolTable


def needs(table: ToolTable, row: ToolRow, subset: str, jobs: ToolJobs) -> tuple[str, list[str]]:
    """What is needed as text, and the commands in their order."""
    if row.against is None:
        words, commands = _own_words(table, row.method, subset, jobs.find_evaluation(table, row.method, subset))
    else:
        words, commands = _pair_words(table, row.method, row.against, subset, jobs)
    models = f"{table.models[0]} in each role and {table.judge} as judge"
    return f"needs {'; '.join([*words, *commands])} ({models})", commands


def _own_words(
    table: ToolTable, method: ToolMethod, subset: str, own: ToolEvaluation | None
) -> tuple[list[str], list[str]]:
    """What is to be waited for, as text, and the commands."""
    if own is None:
        return [], [_evaluate(table, method, subset), _judge(table, "JOB")]
    return _waits(own), [_judge(table, own.job.id)]


def _pair_words(
    table: ToolTable, method: ToolMethod, against: ToolMethod, subset: str, jobs: ToolJobs
) -> tuple[list[str], list[str]]:
    """The same for two evaluations that are compared."""
    if pair := jobs.find_pair(table, method, against, subset):
        own, other = pair
        return [*_waits(own), *_waits(other)], [_judge(table, own.job.id, other.job.id)]
    found = [jobs.find_evaluation(table, one, subset) for one in (method, against)]
    lacking = [one for one, has in zip((method, against), found, strict=True) if has is None]
    names = [name if one is None else one.job.id for one, name in zip(found, ("JOB", "OTHER_JOB"), strict=True)]
    if not lacking:  # both are there, of other rows
        lacking, names = [method, against], ["JOB", "OTHER_JOB"]
        words = [f"the same rows in both, which jobs {' and '.join(one.job.id for one in found if one)} have not"]
    else:
        words = [word for one in found if one is not None for word in _waits(one)]
    return words, [*(_evaluate(table, one, subset) for one in lacking), _judge(table, *names)]


def _waits(evaluation: ToolEvaluation) -> list[str]:
    """What an evaluation that has not ended needs, as text."""
    if evaluation.job.state == JobState.DONE:
        return []
    return [f"the end of job {evaluation.job.id}, which is {evaluation.job.state}"]


def _evaluate(table: ToolTable, method: ToolMethod, subset: str) -> str:
    formulation = FORMULATIONS.load(method.formulation)
    words = ["lumos evaluate toolbench --data", table.data, "--split", subset, "--formulation", formulation.name]
    for name, value in method.settings.items():
        if formulation.settings[name].default != value:
            words += ["--setting", f"{name}={value}"]
    for role in formulation.roles:
        words += ["--role", f"{role}=URL"]
    return " ".join([*words, "--tool records=FILE", "--published"])


def _judge(table: ToolTable, job: str, against: str = "") -> str:
    words = ["lumos judge", job, *(["--against", against] if against else [])]
    return " ".join([*words, "--votes", str(table.votes), "--role judge=URL"])
