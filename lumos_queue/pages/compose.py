"""Compose a page on jobs from data that was read from the database. Empty sections are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from db.engine.connection import Connection, clock
from db.queue.stored_jobs import StoredJob
from lumos_queue.pages.blocks import Block, Document, Section
from lumos_queue.pages.limits import LEVELS, PageLimits
from lumos_queue.pages.material import Material, Prices, read_material
from lumos_queue.pages.sections.comparison import comparison, read_comparisons
from lumos_queue.pages.sections.conversion import conversion
from lumos_queue.pages.sections.costs import costs
from lumos_queue.pages.sections.details import details
from lumos_queue.pages.sections.endings import endings
from lumos_queue.pages.sections.failures import ReadFailure, failures, read_failures
from lumos_queue.pages.sections.provenance import provenance
from lumos_queue.pages.sections.scores import scores
from lumos_queue.pages.sections.summary import summary, title_of
from lumos_queue.pages.sections.times import rates, times
from lumos_queue.pages.sections.training import fits_and_models
from lumos_queue.pages.wording import format_time
from lumos_queue.reports.comparison_values import JobsComparison
from lumos_queue.util.version import code_version


@dataclass(frozen=True, slots=True)
class JobsPage:
    """The data of a page on jobs. The page can be composed from it several times, with smaller and smaller limits."""

    material: Material
    compared: Sequence[JobsComparison | str]
    failures: Sequence[ReadFailure]
    made: str


def read_page(
    connection: Connection, jobs: Sequence[StoredJob], prices: Prices | None = None, by: Sequence[str] = ()
) -> JobsPage:
    """Read the data of a page on jobs in this order. A repeated job counts once.

    `by` are fields by whose values scores are split. Raises SpecError for a field that a job does not have.
    """
    unique_jobs = list({job.id: job for job in jobs}.values())
    material = read_material(connection, unique_jobs, prices, by)
    stamp = f"{format_time(clock(connection))}, by lumos-queue {code_version()}"
    return JobsPage(material, read_comparisons(connection, material, by), read_failures(connection, material), stamp)


def compose(jobs_page: JobsPage, limits: PageLimits) -> Document:
    """Return the page as a document, with texts truncated to the limits."""
    material = jobs_page.material
    sections = [
        _section("scores", "Scores", scores(material)),
        _section("comparison", "Comparison", comparison(jobs_page.compared, limits.tasks, limits.text // 8)),
        _section("conversion", "Conversion", conversion(material, limits)),
        _section("details", "Samples, tools and people", details(material)),
        _section("training", "Training", fits_and_models(material, limits)),
        _section("outcomes", "How episodes ended", endings(material, limits)),
        _section("time", "Time", times(material)),
        _section("throughput", "Throughput", rates(material, limits)),
        _section("tokens", "Tokens and price", costs(material)),
        _section("failures", "Instructive failures", failures(material, jobs_page.failures, limits)),
        _section("provenance", "Provenance", provenance(material, limits)),
    ]
    return Document(
        title=title_of(material),
        lead=summary(material),
        sections=[section for section in sections if section.blocks],
        made=jobs_page.made,
        left_out=_describe_limits(limits),
    )


def _section(key: str, title: str, blocks: Iterable[Block]) -> Section:
    return Section(key, title, list(blocks))


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
