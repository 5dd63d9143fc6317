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
        text = f"{report.results:,} of {report.n:,} items have a result"
        text += ", and scores show what they can become" if report.scores else ""
        hint = f". Continue with: lumos resume {job.id}" if job.state == RealState.NOBODY else ""
        yield Text(f"{job.id}: {job.state}; {text}{hint}", warns=True)
    if report.waiting == PAUSED_BY_PERSON:
        yield Text(f"{job.id} is paused by a person. Continue with: lumos resume {job.id}", warns=True)
    elif report.waiting and not report.completeness.reason:
        yield Text(f"{job.id} waits: {report.waiting}", warns=True)
    failures = report.failures or ()
    for failure in failures:
        command = f". Only these: {failure.go_on}" if len(failures) > 1 else ""
        yield Text(f"{job.id}: {plural(failure.items, 'item')} failed by {failure.kind}{command}")
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
