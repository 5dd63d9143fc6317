"""The overview of jobs, in the order in which readers ask.

The score beside what it is compared with; whether the job is complete, and the command that completes it; how episodes
ended, and the most frequent failures with an example; time, calls, tokens and price; the origin of rows and code. All
other figures are in the sections of a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from db.kinds.job_kinds import JobKind
from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.pages.limits import shorten
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.sections.comparison import conclude
from lumos_queue.pages.sections.conversion import MAX_VERDICTS, draw_verdicts, tabulate_outcomes
from lumos_queue.pages.sections.details import tabulate_samples
from lumos_queue.pages.sections.ending_table import describe_reply_endings, tabulate_endings
from lumos_queue.pages.sections.feedback import feedback
from lumos_queue.pages.sections.fields import scores_by_field
from lumos_queue.pages.sections.fit_course import describe_course
from lumos_queue.pages.sections.job_rows import COST_ROWS, PROVENANCE_ROWS, Row, list_score_rows
from lumos_queue.pages.sections.remarks import remarks_on
from lumos_queue.pages.sections.scores import tabulate_overalls
from lumos_queue.pages.sections.training import tabulate_fits, tabulate_windows
from lumos_queue.reports.comparison_values import JobsComparison
from lumos_queue.reports.differences import describe_differences
from lumos_queue.util.wording import plain

MAX_CONCLUSIONS = 3  #: sentences on differences to the first job
MAX_DIFFERENCES, MAX_HEAD = 4, 24  #: lines about differences in the head of a column, and characters of a line


def overview(material: Material) -> Iterator[Block]:
    """Yield, for the jobs of one kind on the same rows, tables with a column for each job, and remarks."""
    groups: dict[tuple[str, str, str, int], list[JobMaterial]] = {}
    for job in material.jobs:
        groups.setdefault((job.row.kind, job.row.benchmark, job.row.split, job.report.n), []).append(job)
    for (kind, *_), jobs in groups.items():
        if kind == JobKind.TRAIN:
            for job in jobs:
                yield from _training(job)
                yield from remarks_on(job)
        else:
            yield from _episodes(jobs, material.comparisons)
    yield from (Text(reason, warns=True) for reason in material.comparisons if isinstance(reason, str))


def _episodes(jobs: Sequence[JobMaterial], comparisons: Sequence[JobsComparison | str]) -> Iterator[Block]:
    """Yield the blocks on jobs that ran episodes."""
    ids = {job.id for job in jobs}
    compared = next(
        (
            several
            for several in comparisons
            if not isinstance(several, str) and ids & {job.job for job in several.jobs}
        ),
        None,
    )
    heads, formulation = _heads(jobs)
    yield from _table(_title(jobs[0], formulation), heads, jobs, list(list_score_rows(jobs, compared)))
    if compared:
        pairs = [pair for pair in compared.comparisons if pair.b in ids]
        yield from (Text(conclude(pair, compared.metric)) for pair in pairs[:MAX_CONCLUSIONS])
    for job in jobs:
        yield from remarks_on(job)
    yield from tabulate_endings(jobs)
    for job in jobs:
        yield from describe_reply_endings(job)
    for job in jobs:
        yield from _further_tables(job)
    short_heads = [job.id for job in jobs] if len(jobs) > 1 else [""]
    yield from (figure for job in jobs for figure in scores_by_field(job))
    yield from _table("Time, cost and origin", short_heads, jobs, [*COST_ROWS, *PROVENANCE_ROWS])


def _title(job: JobMaterial, formulation: str) -> str:
    split = f" ({job.row.split})" if job.row.split else ""
    return f"{job.row.kind} {job.row.benchmark}{split}{formulation}"


def _table(title: str, heads: Sequence[str], jobs: Sequence[JobMaterial], rows: Sequence[Row]) -> Iterator[Table]:
    """Yield a table with a column for each job. Rows without any cell are left out, and so is a table without rows."""
    lines = [[label, *(describe(job) for job in jobs)] for label, describe in rows]
    if filled_lines := [line for line in lines if any(line[1:])]:
        texts = frozenset({0, 1} if len(jobs) == 1 else {0})
        yield Table(title, ["", *heads], filled_lines, texts=texts, parallel=True)


def _heads(jobs: Sequence[JobMaterial]) -> tuple[list[str], str]:
    """Return the head of each job's column, and the formulation of all jobs for the title; '' if the heads have it.

    A head has the job's id, and the facts in which it differs from the other jobs. A single job has its name.
    """
    differences = [job.called.differences for job in jobs]
    names = dict.fromkeys(name for facts in differences for name in facts)
    differing_names = [name for name in names if name != "code" and len({facts.get(name) for facts in differences}) > 1]
    heads = []
    for job, facts in zip(jobs, differences, strict=True):
        lines = describe_differences({name: facts[name] for name in differing_names if name in facts})
        if not differing_names:
            lines = [job.row.name] if job.row.name else []
        heads.append("\n".join([job.id, *(shorten(line, MAX_HEAD) for line in lines[:MAX_DIFFERENCES])]))
    formulation = jobs[0].report.formulation
    has_one = len({job.report.formulation for job in jobs}) == 1
    return heads, f", {formulation}" if formulation and has_one else ""


def _further_tables(job: JobMaterial) -> Iterator[Block]:
    """Yield the tables of results that only some jobs have."""
    if figures := job.report.conversion:
        if verdicts := figures.verdicts[:MAX_VERDICTS]:
            yield draw_verdicts(f"overview-{job.id}", job, verdicts)
        yield from tabulate_outcomes(job.id, figures)
    if job.report.samples:
        yield tabulate_samples(job, job.report.samples)
    yield from tabulate_overalls(job.report, job.id)


def _training(job: JobMaterial) -> Iterator[Block]:
    yield Text(f"train {job.id}: {job.report.finished:,} of {job.report.n:,} items, {job.state}")
    if (training := job.report.training) is None:
        return
    if training.feedback_steps:
        yield from feedback(training.feedback_steps, training.windows)
    elif training.fits:
        yield tabulate_fits(job, training.fits)
    else:
        yield from tabulate_windows(job, training.windows)
    yield from describe_course(training)
    for window in training.windows:
        if window.reward is None and window.loss is None:
            yield from (Text(f"{plain(name)}: {_format(value)}") for name, value in window.counts.items())
    for model in training.models or ():
        yield Text(f"model {model.name}: {model.path}")


def _format(value: object) -> str:
    """Format a stored count or text."""
    return f"{value:,}" if isinstance(value, int) else str(value)
