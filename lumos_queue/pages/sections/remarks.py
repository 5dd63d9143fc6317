"""The sentences on a job that readers of its figures must see: what is missing, how it continues, and what failed."""

from __future__ import annotations

from collections.abc import Iterator

from db.queue.wait_reasons import PAUSED_BY_PERSON
from lumos_queue.pages.blocks import Text
from lumos_queue.pages.material import JobMaterial
from lumos_queue.reports.completeness import remark
from lumos_queue.reports.real_state import RealState
from lumos_queue.reports.task_choice import remark_on_choice
from lumos_queue.util.wording import plural


def remarks_on(job: JobMaterial) -> Iterator[Text]:
    """Yield the sentences on a job: what is missing and how it continues, why it waits, and what failed."""
    report = job.report
    if text := remark_on_choice(job.row.parent, job.row.chosen, job.row.benchmark):
        yield Text(f"{job.id}: {text}", warns=True)
    conversion, scorers = report.conversion, report.scoring
    remarks = [*(conversion.remarks if conversion else ()), *((scorers.remarks or ()) if scorers else ())]
    for text in remarks:
        yield Text(f"{job.id}: {text}", warns=True)
    if text := remark(report.result):
        yield Text(f"{job.id} is {text}", warns=True)
    elif report.finished < report.n:
        text = f"{report.finished:,} of {report.n:,} items have a result, and scores show what they can become"
        hint = f". Continue with: lumos resume {job.id}" if job.state == RealState.NOBODY else ""
        yield Text(f"{job.id}: {job.state}; {text}{hint}", warns=True)
    if report.waiting == PAUSED_BY_PERSON:
        yield Text(f"{job.id} is paused by a person. Continue with: lumos resume {job.id}", warns=True)
    elif report.waiting and not report.completeness.reason:
        yield Text(f"{job.id} waits: {report.waiting}", warns=True)
    if len(failures := report.failures or ()) > 1:
        for failure in failures:
            items = plural(failure.items, "item")
            yield Text(f"Only the {items} of {job.id} that failed by {failure.kind}: {failure.go_on}")
    for problem in report.episodes.problems if report.episodes else ():
        if not problem.ending:
            yield Text(f"{job.id}: {plural(problem.episodes, 'episode')}: {problem.message}", warns=True)
    for name, rates in (report.rules or {}).items():
        if count := rates.lacking:
            yield Text(
                f"{job.id}: {count:,} of {report.n:,} runs lack votes by which rule={name} compares them. Earlier "
                "versions did not request them: judge the runs again with lumos judge.",
                warns=True,
            )
