"""Format the line of a job in `lumos watch`, and its result at the end, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.kinds.job_kinds import JobKind
from lumos_queue.cli import output
from lumos_queue.cli.job_block import format_line, format_remaining, format_score
from lumos_queue.live.figures import JobFigures, measure_score
from lumos_queue.live.fit_progress import fit_values
from lumos_queue.live.watched_jobs import WatchedJob
from lumos_queue.reports.completeness import Completeness, completeness, remark
from lumos_queue.reports.json_values import as_json
from lumos_queue.util.display import one_line
from lumos_queue.util.wording import format_mean, format_measurement, format_range, is_share


def format_watched(job: WatchedJob) -> str:
    """Return a job as one line, for output without a terminal."""
    if job.removed or job.figures is None:
        return f"{job.id}  {job.state}"
    parts = [format_line(job.figures), format_remaining(job.figures, job.pace), format_score(job.figures), *job.waits]
    return one_line("  ".join(filter(None, parts)))


def result_of(job: WatchedJob) -> dict[str, Any]:
    """Return the job's figures, and whether it ended complete, as JSON."""
    if job.removed or job.figures is None:
        return {"job": job.id, "state": job.state}
    figures, row = job.figures, job.figures.row
    fits = {"fits": [fit_values(fit) for fit in figures.fits]} if row.kind == JobKind.TRAIN else {}
    return {
        "job": row.id,
        "name": row.name,
        "kind": row.kind,
        "benchmark": row.benchmark,
        "formulation": row.formulation,
        "state": row.state,
        "waits": job.waits,
        "items": dict(figures.items),
        "of": row.items,
        "endings": dict(figures.endings),
        "score": measure_score(figures),
        "calls": figures.sums.totals.calls,
        "tokens": figures.tokens,
        "errors": [{"kind": error.kind, "text": error.text, "items": error.items} for error in job.errors],
        **fits,
    } | as_json(_completeness(figures))


def _completeness(figures: JobFigures) -> Completeness:
    return completeness(figures.row, figures.items, figures.endings)


def print_results(jobs: Sequence[WatchedJob]) -> None:
    """Print the result of each job."""
    for job in jobs:
        if job.removed or job.figures is None:
            output.show(f"{job.id}  {job.state}")
            continue
        figures, row = job.figures, job.figures.row
        line = f"{row.id}  {row.state}  {figures.done:,}/{row.items:,} items"
        if score := measure_score(figures):
            has_interval = is_share(score["value"])
            mean = format_measurement(score["value"], score["ci95"]) if has_interval else format_mean(score["value"])
            line += f"  {mean} of {score['scored']:,}"
            if has_interval and score["scored"] < row.items:
                line += f", whole job {format_range(*score['bounds'])}"
        output.show(line)
        if text := remark(_completeness(figures)):
            output.show(f"job {row.id} is {text}")
