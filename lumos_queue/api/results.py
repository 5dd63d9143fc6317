"""Read reports and comparisons of jobs, which a program uses as values, as text, or as a page in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from db.engine.lease import Lease
from db.queries.jobs import get_job
from lumos_queue.api.connect import open_deployment
from lumos_queue.api.objects import name_object
from lumos_queue.pages.blocks import Document
from lumos_queue.pages.board import compose_board
from lumos_queue.pages.compose import JobsPage, compose, read_page
from lumos_queue.pages.fit import write_small
from lumos_queue.pages.html import render_html
from lumos_queue.pages.limits import LEVELS
from lumos_queue.pages.markdown import render_markdown
from lumos_queue.pages.sections.comparison import comparison
from lumos_queue.pages.terminal import render_blocks, render_plain_text
from lumos_queue.reports.board import make_board
from lumos_queue.reports.comparison import Options, compare_jobs
from lumos_queue.reports.comparison_values import JobsComparison
from lumos_queue.reports.json_values import as_json
from lumos_queue.review.scorers.registry import SCORERS
from lumos_queue.review.scoring import ScoringOutcome, score_job
from lumos_queue.settings import Settings
from lumos_queue.submission.job_selection import choose_evaluations
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.new_file import write_new
from lumos_queue.util.wording import format_difference

HEIGHT = 600  #: of a page in a notebook, in pixels


@dataclass(frozen=True, slots=True, repr=False)
class PageResult(ABC):
    """Figures of jobs at the moment at which they were read."""

    values: dict[str, Any]  #: as the command prints it with --json

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @abstractmethod
    def to_markdown(self) -> str:
        """Return the page as Markdown, without charts."""

    @abstractmethod
    def to_html(self) -> str:
        """Return a page without scripts that loads no other files, as `lumos report --html` writes it."""

    def write(self, path: str | Path) -> Path:
        """Write the page as Markdown if the path ends in .md, else as HTML. Raises SpecError if the file exists."""
        target = from_launch(path)
        text = self.to_markdown() if target.suffix == ".md" else self.to_html()
        write_new(target, text.encode())
        return target

    def _repr_html_(self) -> str:
        # A frame, because the page has a strict policy, and styles that must not affect the notebook.
        page = escape(self.to_html(), quote=True)
        return f'<iframe sandbox srcdoc="{page}" style="border:0;width:100%;height:{HEIGHT}px"></iframe>'


@dataclass(frozen=True, slots=True, repr=False)
class JobsResult(PageResult):
    """Figures of jobs whose page is made smaller if it would be a large file."""

    _page: JobsPage

    def to_markdown(self) -> str:
        return render_markdown(compose(self._page, LEVELS[0]))

    def to_html(self) -> str:
        return write_small(self._page, render_html).decode()


@dataclass(frozen=True, slots=True, repr=False)
class BoardResult(PageResult):
    """Models and benchmarks in one table: `board["rows"]`, `board["columns"]`. A notebook shows it as a page.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=20).wait()
    >>> board = lq.board([job])
    >>> board["rows"][0]["cells"][0]["n"], board["columns"][0]["benchmark"]
    (20, 'wordmath')
    """

    _document: Document

    def to_markdown(self) -> str:
        return render_markdown(self._document)

    def to_html(self) -> str:
        return render_html(self._document)

    def __str__(self) -> str:
        return render_blocks(self._document.lead).rstrip()

    def __repr__(self) -> str:
        return f"<Board by {self.values['by']}: {len(self.values['rows'])} × {len(self.values['columns'])}>"


class Report(JobsResult):
    """The report of a job: `report["value"]`, `report["ci95"]`, `report["endings"]`, … A notebook shows it as a page.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=20).wait()
    >>> job.report()["value"], job.report()["endings"]
    (0.0, {'answered': 20})
    """

    def __str__(self) -> str:
        return render_plain_text(compose(self._page, LEVELS[0])).rstrip()

    def __repr__(self) -> str:
        values = self.values
        summary = f"{values['finished']:,} of {values['n']:,}"
        if not values.get("complete", True):
            summary += ", incomplete"
        elif "value" in values:
            summary += f", {values['metric']} {values['value']} {values['ci95']}"
        return f"<Report of {values['job']}: {values['state']}, {summary}>"


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(JobsResult):
    """Jobs that are compared task by task: `comparison["comparisons"][0]` has difference, ci95, p, fixed and broken.

    >>> import lumos_queue as lq
    >>> one, other = (
    ...     lq.evaluate("wordmath", formulation="direct", solver=lambda prompt, reply=reply: reply, limit=20).wait()
    ...     for reply in ("7", "20")
    ... )
    >>> one.compare(other)["comparisons"][0]["fixed"]
    2
    """

    _compared: JobsComparison

    def __str__(self) -> str:
        return render_blocks(list(comparison([self._compared], max_tasks=0))).rstrip()

    def __repr__(self) -> str:
        pairs = "; ".join(
            f"{pair.b} − {pair.a}: {format_difference(pair.figures.difference, pair.figures.ci95)} points"
            for pair in self._compared.comparisons
        )
        return f"<Comparison by {self._compared.metric}: {pairs}>"


def read_report(deployment: Settings, jobs: Sequence[str], by: Sequence[str] = ()) -> Report:
    """Return the report of a job, also split by the fields `by`. Raises SpecError for a field that the job lacks."""
    with open_deployment(deployment) as database, database.engine.connect() as connection:
        page = read_page(connection, [get_job(connection, job) for job in jobs], Lease(deployment.lease_seconds), by=by)
    return Report(as_json(page.material.jobs[0].report), page)


def read_comparison(
    deployment: Settings, jobs: Sequence[str], metric: str, common: bool, by: Sequence[str] = ()
) -> Comparison:
    """Compare each further job with the first of `jobs`, also for each group of the fields `by`.

    Raises SpecError for jobs that cannot be compared, and for a field that they do not have.
    """
    with open_deployment(deployment) as database, database.engine.connect() as connection:
        rows = [get_job(connection, job) for job in jobs]
        compared = compare_jobs(connection, rows, Options(metric, common, by=by))
        page = read_page(connection, rows, Lease(deployment.lease_seconds), by=by)
        page = replace(page, material=replace(page.material, comparisons=[compared]))
        return Comparison(as_json(compared), page, compared)


def read_board(deployment: Settings, jobs: Sequence[str], where: str, by: str) -> BoardResult:
    """Return the table of these jobs, or of the evaluations that meet a filter of jobs. Raises SpecError."""
    with open_deployment(deployment) as database:
        names = choose_evaluations(database, Lease(deployment.lease_seconds), jobs, where, "where=")
        with database.engine.connect() as connection:
            table = make_board(connection, [get_job(connection, name) for name in names], by)
            return BoardResult(as_json(table), compose_board(connection, table))


def add_scores(deployment: Settings, job: str, scorer: Any) -> ScoringOutcome:
    """Run a scorer (an object or a name) on the episodes of a job, and add its scores."""
    name = name_object(SCORERS, scorer, getattr(scorer, "name", ""), deployment.model_copy(update={"broker_url": ""}))
    with open_deployment(deployment) as database:
        return score_job(database, deployment, job, name)
