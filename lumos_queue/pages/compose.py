"""Compose a page on jobs from data that was read from the database. Empty sections are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.engine.connection import Connection, clock
from db.engine.lease import Lease
from db.queue.stored_jobs import StoredJob
from lumos_queue.pages.blocks import Document, Section
from lumos_queue.pages.limits import LEVELS, PageLimits
from lumos_queue.pages.material import Material, Prices, read_material
from lumos_queue.pages.sections.comparison import comparison
from lumos_queue.pages.sections.conversion import conversion
from lumos_queue.pages.sections.costs import costs
from lumos_queue.pages.sections.details import details
from lumos_queue.pages.sections.endings import endings
from lumos_queue.pages.sections.failures import ReadFailure, failures, read_failures
from lumos_queue.pages.sections.overview import overview
from lumos_queue.pages.sections.provenance import provenance
from lumos_queue.pages.sections.scores import scores
from lumos_queue.pages.sections.times import rates, times
from lumos_queue.pages.sections.titles import title_of
from lumos_queue.pages.sections.training import fits_and_models
from lumos_queue.util.version import code_version
from lumos_queue.util.wording import format_time


@dataclass(frozen=True, slots=True)
class JobsPage:
    """The data of a page on jobs. The page can be composed from it several times, with smaller and smaller limits."""

    material: Material
    failures: Sequence[ReadFailure]
    made: str


def read_page(
    connection: Connection,
    jobs: Sequence[StoredJob],
    lease: Lease,
    prices: Prices | None = None,
    by: Sequence[str] = (),
) -> JobsPage:
    """Read the data of a page on jobs in this order. A repeated job counts once.

    `lease` decides which processes are alive.
    `by` are fields by whose values scores are split. Raises SpecError for a field that a job does not have.
    """
    unique_jobs = list({job.id: job for job in jobs}.values())
    material = read_material(connection, unique_jobs, lease, prices, by)
    stamp = f"{format_time(clock(connection))}, by lumos-queue {code_version()}"
    return JobsPage(material, read_failures(connection, material), stamp)


def compose(jobs_page: JobsPage, limits: PageLimits) -> Document:
    """Return the page as a document, with texts truncated to the limits."""
    material = jobs_page.material
    first, *further, last = list_sections(material, limits)
    comparisons = [several for several in material.comparisons if not isinstance(several, str)]
    compared = comparison(comparisons, limits.rows // 20, limits.text // 8)
    chosen_failures = failures(material, jobs_page.failures, limits)
    sections = [
        first,
        Section("comparison", "Comparison", list(compared)),
        *further,
        Section("failures", "Instructive failures", list(chosen_failures)),
        last,
    ]
    return Document(
        title=title_of(material),
        lead=list(overview(material)),
        sections=[section for section in sections if section.blocks],
        made=jobs_page.made,
        left_out=_describe_limits(limits),
    )


def list_sections(material: Material, limits: PageLimits) -> list[Section]:
    """Return the sections that need no comparison of jobs and no trajectories: scores first, provenance last."""
    return [
        Section("scores", "Scores", list(scores(material))),
        Section("conversion", "Conversion", list(conversion(material, limits))),
        Section("details", "Samples, tools and people", list(details(material))),
        Section("training", "Training", list(fits_and_models(material, limits))),
        Section("outcomes", "How episodes ended", list(endings(material, limits))),
        Section("time", "Time", list(times(material))),
        Section("throughput", "Throughput", list(rates(material, limits))),
        Section("tokens", "Tokens and price", list(costs(material))),
        Section("provenance", "Provenance", list(provenance(material, limits))),
    ]


def _describe_limits(limits: PageLimits) -> list[str]:
    """Return a line that explains the limits, unless they are those of the first level."""
    if limits == LEVELS[0]:
        return []
    prompts = f"prompts and replies to {limits.prompt:,} characters" if limits.prompt else "prompts left out"
    pictures = "" if limits.pictures else "; pictures are named only"
    right_episodes = "" if limits.shows_counterparts else "; right episodes of the same tasks are left out"
    return [
        f"To keep this file small, other texts are cut to {limits.text:,} characters and {prompts}; trajectories have "
        f"at most {limits.steps:,} rows{right_episodes}{pictures}. Each cut has the number of characters left out."
    ]
