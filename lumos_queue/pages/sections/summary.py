"""The first lines of a page: its jobs, their states, and warnings about their figures."""

from __future__ import annotations

from collections.abc import Iterator

from db.kinds.job_kinds import JobKind
from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.sections.scores import main_metric
from lumos_queue.reports.completeness import remark
from lumos_queue.reports.task_choice import remark_on_choice
from lumos_queue.util.wording import format_interval, format_metric, format_seconds, plural

#: Of one job of each kind.
_NAMES: dict[str, str] = {
    JobKind.EVALUATE: "evaluation",
    JobKind.INFER: "inference",
    JobKind.CONVERT: "conversion",
    JobKind.TRAIN: "training",
}


def title_of(material: Material) -> str:
    """Return the title of the page: `wordmath (familiar): 2 evaluations`."""
    titles = []
    for (kind, benchmark, split), jobs in list(material.groups())[:3]:
        name = _NAMES[kind]
        of = f"{benchmark} ({split}): " if split else f"{benchmark}: " if benchmark else ""
        titles.append(of + plural(len(jobs), name))
    excess = len(list(material.groups())) - 3
    return "; ".join(titles) + (f"; and {excess} more kinds" if excess > 0 else "")


def summary(material: Material) -> list[Block]:
    """Return a table with a row for each job, and warnings."""
    heads = ["job", "name", "model", "formulation", "rows", "state", "finished", "score", "95 % interval", "time"]
    heads.append("differs in")
    rows = []
    for job in material.jobs:
        report = job.report
        main = main_metric(job)
        rows.append(
            [
                job.id,
                job.called.name,
                job.called.model,
                report.formulation or report.kind,
                report.row_origin.text if report.row_origin else "",
                report.state,
                f"{report.finished:,} of {report.n:,}",
                format_metric(main),
                format_interval(*main.ci95) if main else "",
                "" if report.seconds is None else format_seconds(report.seconds),
                job.called.differs,
            ]
        )
    table = _without_empty(Table("Jobs", heads, rows, texts=frozenset({0, 1, 2, 3, 4, 5, 10})))
    return [table, *warnings(material)]


def warnings(material: Material) -> Iterator[Text]:
    """Yield warnings about jobs that are incomplete or failed, or whose tasks were chosen by their scores."""
    for job in material.jobs:
        yield from _warnings_of(job)


def _warnings_of(job: JobMaterial) -> Iterator[Text]:
    if text := remark_on_choice(job.row.parent, job.row.chosen, job.row.benchmark):
        yield Text(f"{job.id}: {text}. Its scores are those on these tasks.", warns=True)
    if text := remark(job.report.result):
        yield Text(f"{job.id} is {text}", warns=True)
    elif job.report.finished < job.report.n:
        text = f"{job.report.finished:,} of {job.report.n:,} items have a result"
        waits = f"; it waits: {job.report.waiting}" if job.report.waiting else ""
        yield Text(
            f"{job.id} is {job.report.state}: {text}. Figures are of these; scores show what they can still become"
            f"{waits}.",
            warns=True,
        )


def _without_empty(table: Table) -> Table:
    """Return the table without empty columns."""
    columns = [column for column in range(len(table.heads)) if any(row[column] for row in table.rows)]
    return Table(
        table.title,
        [table.heads[column] for column in columns],
        [[row[column] for column in columns] for row in table.rows],
        table.note,
        frozenset(new for new, column in enumerate(columns) if column in table.texts),
        table.folded,
    )
