"""Read the data of a page on jobs from the database, once for each page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.job_endpoints import endpoints_of
from db.queries.jobs import problems
from db.queries.outcomes import Throughput, action_errors, count_outcomes, throughput
from db.queue.stored_jobs import StoredJob
from db.queue.tags import tags_of
from lumos_queue.pages.labels import JobLabel, label_jobs
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.report import make_report
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from lumos_queue.papers.published_figures import PublishedFigure

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
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    endpoints: Sequence[Any] = ()
    outcomes: Sequence[tuple[str, bool | None, int]] = ()  #: db.queries.outcomes.count_outcomes
    errors: Sequence[tuple[str, str, int, int]] = ()  #: db.queries.outcomes.action_errors
    retried: Sequence[tuple[str, int]] = ()  #: db.queries.jobs.problems: reasons why items are retried
    curve: Throughput | None = None

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
    published: Mapping[tuple[str, str], Sequence[PublishedFigure]] = field(default_factory=dict)
    prices: Prices | None = None

    def groups(self) -> Iterator[tuple[tuple[str, str, str], list[JobMaterial]]]:
        """Yield each (kind, benchmark, split) with its jobs, in the order of the page."""
        groups: dict[tuple[str, str, str], list[JobMaterial]] = {}
        for job in self.jobs:
            groups.setdefault((job.row.kind, job.row.benchmark, job.row.split), []).append(job)
        yield from groups.items()


def read_material(
    connection: Connection,
    jobs: Sequence[StoredJob],
    prices: Prices | None = None,
    by: Sequence[str] = (),
    overview: bool = False,
) -> Material:
    """Read all data of jobs except trajectories. `by` are fields by whose values scores are split.

    `overview`: read only what the first look at the jobs needs, which is much faster for large jobs.
    """
    if overview:
        return Material(
            [
                _read_overview(connection, job, label, by)
                for job, label in zip(jobs, label_jobs(connection, jobs), strict=True)
            ]
        )
    # Imported here, because the code of the papers takes longer to import than an overview to read.
    with import_libraries():
        from lumos_queue.papers.published_figures import list_published_figures

    labels = label_jobs(connection, jobs)
    buckets = max(6, min(MAX_BUCKETS, ALL_BUCKETS // len(jobs)))
    job_materials = [_read_job(connection, job, label, buckets, by) for job, label in zip(jobs, labels, strict=True)]
    return Material(job_materials, list_published_figures(connection, jobs), prices)


def _read_overview(connection: Connection, job: StoredJob, label: JobLabel, by: Sequence[str]) -> JobMaterial:
    return JobMaterial(row=job, called=label, report=make_report(connection, job, by))


def _read_job(connection: Connection, job: StoredJob, label: JobLabel, buckets: int, by: Sequence[str]) -> JobMaterial:
    report, has_episodes = make_report(connection, job, by), job.kind != JobKind.TRAIN
    return JobMaterial(
        row=job,
        called=label,
        report=report,
        tags=tags_of(connection, [job.id]).get(job.id, {}),
        endpoints=endpoints_of(connection, job.id),
        outcomes=count_outcomes(connection, job.id, report.scores.metric if report.scores else "")
        if has_episodes
        else (),
        errors=action_errors(connection, job.id) if has_episodes else (),
        retried=problems(connection, job.id),
        curve=throughput(connection, job.id, job.started_at, buckets) if has_episodes else None,
    )
