"""Check whether jobs can be compared. Each error is one line with the reason and the remedy."""

from __future__ import annotations

from collections.abc import Sequence

from db.engine.connection import Connection
from db.kinds.job_kinds import RUNS, JobKind
from db.kinds.states import ItemState
from db.queue.equal_tasks import have_equal_tasks
from db.queue.figures import count_scores, progress
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.registry import definition_of
from lumos_queue.errors import SpecError, unknown
from lumos_queue.reports.scores import samples_of

COMMON = "To compare only the tasks that are judged in both, add: --common"


def choose_metric(connection: Connection, jobs: Sequence[StoredJob], metric: str = "") -> str:
    """Return the metric by which jobs are compared: `metric`, or the benchmark's main metric.

    Raises SpecError for fewer than two jobs, jobs of different benchmarks, and jobs without scores of the metric.
    """
    if len({job.id for job in jobs}) != len(jobs) or len(jobs) < 2:
        raise SpecError("Name two jobs or more, each once: lumos compare A B [C …]. List them with: lumos jobs")
    first = jobs[0]
    for job in jobs:
        if job.kind not in RUNS or not job.main_metric:
            is_inference = job.kind == JobKind.INFER
            hint = " Score its episodes with: lumos score, or its agent with: lumos evaluate" * is_inference
            raise SpecError(f"Job {job.id} is of kind '{job.kind}', which has no scores to compare.{hint}")
        if job.benchmark != first.benchmark:
            raise SpecError(
                f"Job {first.id} is of the benchmark '{first.benchmark}', job {job.id} of '{job.benchmark}': "
                "they have no task in common. Compare jobs of one benchmark."
            )
        if problem := _differ_in_scoring(first, job):
            raise SpecError(problem)
    metrics = count_scores(connection, first.id)
    if metric and metric not in metrics:
        raise unknown(f"metric of job {first.id}", metric, metrics)
    common_metric = metric or first.main_metric
    for job in jobs:
        if common_metric not in count_scores(connection, job.id):
            raise SpecError(f"Job {job.id} has no score of '{common_metric}' yet. See: lumos report {job.id}")
    return common_metric


def _differ_in_scoring(first: StoredJob, second: StoredJob) -> str:
    """Return why the scores of two jobs on users' files have different meanings; '' if the meaning is the same.

    Two files may have the same title, and a file may be scored in two ways.
    """
    first_definition, second_definition = definition_of(first.spec), definition_of(second.spec)
    if (
        first_definition is None
        or second_definition is None
        or (first_definition.scorer, first_definition.judge) == (second_definition.scorer, second_definition.judge)
    ):
        return ""
    if first_definition.scorer != second_definition.scorer:
        scorers = (
            f"'{first_definition.scorer[:40]}' in job {first.id}, '{second_definition.scorer[:40]}' in job {second.id}"
        )
    else:
        scorers = f"two judges, in job {first.id} and in job {second.id}"
    return (
        f"'{first.benchmark}' is scored by {scorers}: compare jobs with the same scorer, or give the files two titles."
    )


def find_unlike(connection: Connection, first: StoredJob, second: StoredJob) -> str:
    """Return why two jobs have different tasks or numbers of samples, as text; '' if they do not."""
    if not have_equal_rows(connection, first, second):
        return f"other rows: dataset {_short(first)} of {first.id}, {_short(second)} of {second.id}"
    if samples_of(first) != samples_of(second):
        return f"other samples: {first.id} tried each task {_times(first)}, {second.id} {_times(second)}"
    if first.items != second.items:
        return f"other tasks: {first.id} has {first.items:,} items, {second.id} {second.items:,}"
    return ""


def have_equal_rows(connection: Connection, first: StoredJob, second: StoredJob) -> bool:
    """Return whether two jobs have the same dataset, or datasets with equal tasks."""
    if first.dataset == second.dataset:
        return True
    if first.dataset is None or second.dataset is None:
        return False
    return have_equal_tasks(connection, first.dataset, second.dataset)


def find_open(connection: Connection, jobs: Sequence[StoredJob]) -> str:
    """Return a text on the first job that has items that are not done; '' if all items of all jobs are done."""
    for job in jobs:
        completed_items = progress(connection, job.id).get(ItemState.DONE, 0)
        if completed_items < job.items:
            return f"job {job.id} is half done: {completed_items:,} of its {job.items:,} items, and it is {job.state}"
    return ""


def _short(job: StoredJob) -> str:
    return (job.dataset or "none")[:8]


def _times(job: StoredJob) -> str:
    samples = samples_of(job)
    return "once" if samples == 1 else f"{samples} times"
