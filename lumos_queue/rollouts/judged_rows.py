"""Build the dataset for a judge of tool agents: it has a task for each item of a job, whatever its outcome is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.engine.connection import Database
from db.queries.judge_input import JudgedItem, items_of
from db.queue.stored_jobs import StoredJob
from lumos_queue.actions.tools.functions import functions_of
from lumos_queue.benchmarks.tooleval.benchmark import ToolEval
from lumos_queue.errors import SpecError
from lumos_queue.execution.prefill import source_row
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.function_list import FunctionList
from lumos_queue.prompts.judged_run import (
    ANSWERED,
    GAVE_UP,
    MAX_ANSWER,
    MISSING,
    UNFINISHED,
    JudgedRun,
    JudgedStep,
    truncate,
    within_bounds,
)
from lumos_queue.prompts.tooleval import describe_functions
from lumos_queue.records import Ending, Task
from lumos_queue.rollouts.final_path import Done, final_path
from lumos_queue.rollouts.judgeable import check_judgeable
from lumos_queue.submission.store import Rows, read_rows

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode

ENDED = {Ending.ANSWERED: ANSWERED, Ending.GAVE_UP: GAVE_UP}
NO_RESULT = ("", Ending.INFRA_ERROR, Ending.CANCELLED)  #: endings that are not results of the agent
MAX_TOOLS = 200  #: functions of a task that the judge's prompt describes


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """The dataset for a judge, and the numbers of its runs by JudgedRun.ended."""

    rows: Rows
    ended: Mapping[str, int]


def build_judged_rows(database: Database, job: StoredJob, against: StoredJob | None = None) -> JudgedRows:
    """Return the dataset of a job's runs (`job` is its row), with the runs of the job `against` for comparison, if any.

    Raises SpecError for a job that cannot be judged, or for jobs that cannot be compared.
    """
    check_judgeable(job, "runs")
    if against is not None:
        check_judgeable(against, "runs")
        _check_pair(job, against)
    other_runs: dict[tuple[str, int], tuple[str, JudgedRun]] = {}
    if against is not None:
        other_runs = {_pair_key(item): (item.name, _run_of(item)) for item in items_of(database, against)}
    tasks, endings = [], Counter[str]()
    for item in items_of(database, job):
        run = _run_of(item)
        endings[run.ended] += 1
        inputs = _describe_tools(item) | {"run": run.as_json()}
        inputs["from"] = {"episode": item.name, "row": source_row(item.task)}
        if against is not None:
            name, other_run = other_runs.get(_pair_key(item), (f"{against.id}-", JudgedRun(MISSING)))
            inputs["against"] = other_run.as_json()
            inputs["from"]["against"] = name
        name = f"{source_row(item.task)}@{item.name}"
        tasks.append(Task(ToolEval.name, "", name, item.task.question, inputs))
    return JudgedRows(read_rows(_Runs(job, tasks), None, job.split, False), endings)


def build_judged_run(episode: StoredEpisode | None) -> JudgedRun:
    """Return a stored run in the form for a judge; None gives a run without a result."""
    if episode is None or episode.ending in NO_RESULT:
        return JudgedRun(MISSING)
    steps = [_step(call) for call in final_path(episode.steps, episode.ending) if not call[1].ends]
    retained_steps, excluded_count = within_bounds(steps)
    ending = ENDED.get(Ending(episode.ending), UNFINISHED)
    answer = (episode.answer or "") if ending == ANSWERED else ""
    return JudgedRun(ending, truncate(answer, MAX_ANSWER), retained_steps, excluded_count)


def _run_of(item: JudgedItem) -> JudgedRun:
    return build_judged_run(item.episode)


def _pair_key(item: JudgedItem) -> tuple[str, int]:
    """Return the key of an item, which is equal for runs of two jobs that are compared."""
    return item.task.row, item.sample


def _step(call: Done) -> JudgedStep:
    action, execution = call
    name = action.raw if action.name == REPEATED else action.name
    return JudgedStep(name, action.arguments, execution.status, execution.result or execution.message)


def _describe_tools(item: JudgedItem) -> dict[str, Any]:
    """Return inputs that describe the agent's functions and their tools. Raises SpecError if its task lists none."""
    entries = item.task.inputs.get("functions")
    if not isinstance(entries, list):
        raise SpecError(
            f"Job {item.name.rpartition('-')[0]} is of '{item.task.benchmark}', whose tasks list no functions: "
            "lumos judge is for runs of tool agents, such as those of 'toolbench'."
        )
    return describe_functions(FunctionList(functions_of(entries)[:MAX_TOOLS]))


def _check_pair(job: StoredJob, against: StoredJob) -> None:
    """Raise SpecError unless both jobs have the same tasks and the same number of samples."""
    if job.id == against.id:
        raise SpecError(f"--against {against.id} is the judged job itself: name another one.")
    if job.dataset != against.dataset:
        raise SpecError(
            f"Jobs {job.id} and {against.id} have different datasets, so their runs cannot be compared: submit both "
            "with the same --data, --split and --option."
        )
    for option, default in (("samples", 1), ("limit", 0)):
        job_option, against_option = (row.spec.get("infer", row.spec).get(option, default) for row in (job, against))
        if job_option != against_option:
            raise SpecError(
                f"Jobs {job.id} and {against.id} have --{option} {job_option} and {against_option}: "
                "both jobs must have the same."
            )


class _Runs(ToolEval):
    """The benchmark ToolEval, whose tasks are the runs of a job."""

    def __init__(self, job: StoredJob, tasks: Sequence[Task]):
        self.licence, self.splits, self._tasks = job.licence, (job.split,), tasks

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task]:
        return iter(self._tasks)
