"""Read the data of a page on jobs from the database, once for each page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from db.engine.connection import Connection
from db.engine.lease import Lease
from db.kinds.job_kinds import JobKind
from db.queries.job_endpoints import ReportedIdentity, endpoints_of
from db.queries.jobs import get_job, problems
from db.queries.outcomes import Throughput, action_errors, count_outcomes, throughput
from db.queue.stored_jobs import StoredJob
from db.queue.tags import tags_of
from lumos_queue.errors import SpecError
from lumos_queue.pages.labels import JobLabel, label_jobs
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.comparison_values import JobsComparison
from lumos_queue.reports.ending_examples import EndingExample, find_ending_examples
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.real_state import real_states
from lumos_queue.reports.report import make_report
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from lumos_queue.papers.published_figures import PublishedFigure

MAX_LISTED = 20  #: limit of the fixed, and of the broken, tasks of a comparison
MAX_BUCKETS, ALL_BUCKETS = 30, 900  #: number of intervals of the curve of a job, and of the curves of all jobs


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices in USD per million tokens."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True)
class JobMaterial:
    """The data of a job for a page."""

    row: StoredJob
    called: JobLabel
    report: JobReport
    state: str  #: the real state (reports/real_state.py)
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    endpoints: Sequence[ReportedIdentity] = ()
    outcomes: Sequence[tuple[str, bool | None, int]] = ()  #: db.queries.outcomes.count_outcomes
    errors: Sequence[tuple[str, str, int, int]] = ()  #: db.queries.outcomes.action_errors
    retried: Sequence[tuple[str, int]] = ()  #: db.queries.jobs.problems: reasons why items are retried
    curve: Throughput | None = None
    endings: Sequence[EndingExample] = ()

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def label(self) -> str:
        """The job's id, and how the job differs from the other jobs of the page."""
        return self.called.short

    @property
    def metric(self) -> str:
        """The name of the job's main metric; '' for a job without scores."""
        return self.report.scores.metric if self.report.scores else ""


@dataclass(frozen=True, slots=True)
class Material:
    """The data of all jobs of a page, with the published figures for them."""

    jobs: Sequence[JobMaterial]
    #: Comparisons of the evaluations on the same rows, or the reason why they cannot be compared.
    comparisons: Sequence[JobsComparison | str] = ()
    published: Mapping[tuple[str, str], Sequence[PublishedFigure]] = field(default_factory=dict)
    prices: Prices | None = None

    def groups(self) -> Iterator[tuple[tuple[str, str, str], list[JobMaterial]]]:
        """Yield each (kind, benchmark, split) with its jobs, in the order of the page."""
        groups: dict[tuple[str, str, str], list[JobMaterial]] = {}
        for job in self.jobs:
            groups.setdefault((job.row.kind, job.row.benchmark, job.row.split), []).append(job)
        yield from groups.items()


def read_reports(
    connection: Connection, jobs: Sequence[StoredJob], lease: Lease, by: Sequence[str] = ()
) -> list[JobMaterial]:
    """Read the reports, labels and states of jobs. `by` are fields by whose values scores are split.

    `lease` decides which processes are alive.
    """
    labels, states = label_jobs(connection, jobs), real_states(connection, jobs, lease)
    return [
        JobMaterial(job, label, make_report(connection, job, by), str(states[job.id].state))
        for job, label in zip(jobs, labels, strict=True)
    ]


def read_overview(
    connection: Connection,
    jobs: Sequence[StoredJob],
    lease: Lease,
    by: Sequence[str] = (),
    prices: Prices | None = None,
) -> Material:
    """Read what the overview of jobs needs, which is much less than the sections need."""
    reports = [
        replace(job, endings=find_ending_examples(connection, job.row, job.report))
        for job in read_reports(connection, jobs, lease, by)
    ]
    material = Material(reports, prices=prices)
    return replace(material, comparisons=_compare(connection, material, by))


def read_material(
    connection: Connection,
    jobs: Sequence[StoredJob],
    lease: Lease,
    prices: Prices | None = None,
    by: Sequence[str] = (),
) -> Material:
    """Read all data of jobs except trajectories."""
    # Imported here, because the code of the papers takes longer to import than an overview to read.
    with import_libraries():
        from lumos_queue.papers.published_figures import list_published_figures

    material = read_overview(connection, jobs, lease, by, prices)
    buckets = max(6, min(MAX_BUCKETS, ALL_BUCKETS // len(jobs)))
    job_materials = [_complete(connection, job, buckets) for job in material.jobs]
    return replace(material, jobs=job_materials, published=list_published_figures(connection, jobs))


def _complete(connection: Connection, job: JobMaterial, buckets: int) -> JobMaterial:
    """Return the material of a job with what the sections need beyond the overview."""
    has_episodes = job.row.kind != JobKind.TRAIN
    return replace(
        job,
        tags=tags_of(connection, [job.id]).get(job.id, {}),
        endpoints=endpoints_of(connection, job.id),
        outcomes=count_outcomes(connection, job.id, job.metric) if has_episodes else (),
        errors=action_errors(connection, job.id) if has_episodes else (),
        retried=problems(connection, job.id),
        curve=throughput(connection, job.id, job.row.started_at, buckets) if has_episodes else None,
    )


def _compare(connection: Connection, material: Material, by: Sequence[str]) -> list[JobsComparison | str]:
    """Compare the evaluations of each group with its first, and a job that was run again with its former job.

    For jobs that cannot be compared, the text says why.
    """
    prices = material.prices
    options = Options(max_pairs=MAX_LISTED, prices=(prices.prompt, prices.completion) if prices else None, by=by)
    comparisons: list[JobsComparison | str] = []
    for (kind, _, _), jobs in material.groups():
        if kind != JobKind.EVALUATE:
            continue
        if len(jobs) == 1:
            comparisons += _compare_with_parent(connection, jobs[0], options)
            continue
        try:
            comparisons.append(compare_jobs(connection, [job.row for job in jobs], options))
        except SpecError as error:
            comparisons.append(str(error))
    return comparisons


def _compare_with_parent(connection: Connection, job: JobMaterial, options: Options) -> Iterator[JobsComparison]:
    """Yield the comparison of a job that was run again with its former job, if both ran the same rows.

    A job that ran chosen tasks, or that has episodes of its former job, says nothing about a difference.
    """
    if not job.row.parent or job.row.chosen or job.report.adopted:
        return
    with suppress(SpecError):
        yield compare_jobs(connection, [get_job(connection, job.row.parent), job.row], options)
