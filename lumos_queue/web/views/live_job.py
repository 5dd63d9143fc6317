"""The live parts of a job's page: its progress, and the curves of the fits at work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from db.kinds.states import JobState
from db.queries.training_progress import StoredProgress
from lumos_queue.live.figures import JobFigures, measure_score
from lumos_queue.live.fit_progress import describe_state, describe_step, find_only_fit, list_figures, select_current
from lumos_queue.live.watched_jobs import ENDED, WatchedJob, WatchedJobs
from lumos_queue.pages.sections.fit_curve import draw_fit_curve, title_curve
from lumos_queue.web.live import LIVE, Parts
from lumos_queue.web.rendering import render_part

CURVES = "curves"  #: the name of the part with the curves


@dataclass(frozen=True, slots=True)
class FitFacts:
    """What the page shows of a fit."""

    fit: str  #: its name within the job; '' for the only one
    facts: Sequence[tuple[str, str]]  #: names and texts
    lines: Sequence[str]  #: the phase, and the restarts if there are any


def show_live_job(job: WatchedJob, watch: WatchedJobs) -> Parts:
    """Return the live parts of the job's page as HTML."""
    figures = job.figures
    is_open = job.state not in ENDED if figures else not job.removed
    text = render_part(
        "live_job.html",
        one=job,
        watched=watch,
        score=measure_score(figures) if figures else None,
        is_open=is_open,
        fits=_list_facts(figures) if figures else (),
        only_fit=find_only_fit(figures.fits) if figures else None,
    )
    if not job.curves:
        return {LIVE: text}
    curves = [
        draw_fit_curve(f"live-{index}", title_curve(curve, job.id), curve) for index, curve in enumerate(job.curves)
    ]
    return {LIVE: text, CURVES: render_part("live_curves.html", curves=curves)}


def _list_facts(figures: JobFigures) -> list[FitFacts]:
    """Return the facts of the fits at work. While the job waits for rollouts, and after its end, no phase is shown."""
    has_state = not figures.awaited and figures.row.state != JobState.DONE
    return [_describe(fit, has_state) for fit in select_current(figures.fits)]


def _describe(fit: StoredProgress, has_state: bool) -> FitFacts:
    step = describe_step(fit).removeprefix("step ")
    facts = [("step", step), *list_figures(fit.progress)]
    return FitFacts(
        fit.progress.fit, [(name, text) for name, text in facts if text], describe_state(fit) if has_state else ()
    )
