"""The full-screen page of `lumos watch`. Jobs that do not fit the terminal are left out and counted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.text import Text

from db.kinds.states import JobState
from lumos_queue.cli.job_block import describe, format_remaining, format_score, job_block, job_head
from lumos_queue.cli.output import harmless
from lumos_queue.live.figures import measure_score
from lumos_queue.live.fit_progress import describe_shortly, select_current
from lumos_queue.live.watched_jobs import WatchedJob, WatchedJobs
from lumos_queue.util.wording import MISSING, format_mean, format_rough_seconds

STALE_SECONDS = 6.0  #: after which the page shows the age of its figures
MIN_ERRORS = 3  #: minimum lines for errors, where there are any
WARN, DIM = "yellow", "dim"


class Screen:
    """The page that rich draws repeatedly. It only shows the state, which another thread reads."""

    def __init__(self, watched_jobs: WatchedJobs):
        self._watched_jobs = watched_jobs

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        height = options.height or console.height
        room = height - 1  # the last line is about Ctrl-C
        top_lines = self._top()
        bottom_lines = [*self._loads(), *self._errors()]
        jobs = self._jobs(
            console, options, room - len(top_lines) - min(len(bottom_lines), MIN_ERRORS + len(self._loads()))
        )
        parts = [*top_lines, *jobs]
        parts += bottom_lines[: max(0, room - _height(console, options, parts))]
        if not room:
            parts = []
        yield Group(*parts)
        yield from [Text()] * (room - _height(console, options, parts))
        yield _line("Ctrl-C leaves: jobs continue", DIM)

    def _top(self) -> list[Text]:
        watched_jobs, lines = self._watched_jobs, []
        if watched_jobs.read_at is None:
            return [_line(watched_jobs.silence or "reading …", WARN if watched_jobs.silence else DIM)]
        age = time.monotonic() - watched_jobs.read_at
        if watched_jobs.silence:
            lines.append(_line(f"figures of {format_rough_seconds(age)} ago: {watched_jobs.silence}", "bold red"))
        elif age > STALE_SECONDS:
            lines.append(_line(f"figures of {format_rough_seconds(age)} ago", WARN))
        lines.append(_line(watched_jobs.describe_workers(), "" if watched_jobs.workers else WARN))
        return lines

    def _jobs(self, console: Console, options: ConsoleOptions, room: int) -> list[RenderableType]:
        """Return all jobs in the longest form that fits; else as many jobs as fit, unfinished jobs first."""
        jobs = sorted(
            self._watched_jobs.jobs, key=lambda job: job.state in (JobState.DONE, JobState.CANCELLED, JobState.REMOVED)
        )
        for form in (_whole, _short, _one_line):
            parts = [part for job in jobs for part in form(job)]
            if _height(console, options, parts) <= room or form is _one_line:
                break
        if len(parts) <= room or form is not _one_line:
            return parts
        visible_count = max(1, room - 1)
        return [
            *parts[:visible_count],
            _line(f"… and {len(parts) - visible_count:,} more jobs: a taller terminal shows them", DIM),
        ]

    def _loads(self) -> list[Text]:
        loads = self._watched_jobs.loads
        if not loads:
            return []
        lines = [_line("calls in flight  window  waiting  cap  replies/min  oldest  endpoint", DIM)]
        for load in loads:
            use, cap = load.traffic, MISSING if load.cap is None else f"{load.cap:,}"
            age = format_rough_seconds(use.oldest_seconds) if use.in_flight else MISSING
            cells = f"{use.in_flight:>15,}  {use.window:>6,.0f}  {use.waiting:>7,}  {cap:>3}  {use.per_minute:>11,}"
            lines.append(_line(f"{cells}  {age:>6}  {load.url}"))
            if use.late:
                lines.append(_line(f"{'':>15}  {use.describe()}"))
        return lines

    def _errors(self) -> list[Text]:
        has_several = len(self._watched_jobs.jobs) > 1
        lines = []
        for watched_job in self._watched_jobs.jobs:
            for error in watched_job.errors:
                job = f"{watched_job.id}  " if has_several else ""
                lines.append(_line(f"{job}{error.items:,} × {error.kind}: {error.text}"))
        return [Text(), _line("errors, the latest first", DIM), *lines] if lines else []


def _line(text: str, style: str = "") -> Text:
    """Return one line, cut at the width of the terminal."""
    return Text(" ".join(harmless(text).split("\n")), style=style, no_wrap=True, overflow="ellipsis")


def _height(console: Console, options: ConsoleOptions, parts: Sequence[RenderableType]) -> int:
    return len(console.render_lines(Group(*parts), options.update(height=None), pad=False)) if parts else 0


def _whole(job: WatchedJob) -> list[RenderableType]:
    if job.removed or job.figures is None:
        return _one_line(job)
    return [job_block(job.figures, job.pace, job.waits), Text()]


def _short(job: WatchedJob) -> list[RenderableType]:
    if job.removed or job.figures is None:
        return _one_line(job)
    score = format_score(job.figures)
    return [
        *job_head(job.figures, job.pace),
        *([_line(f"score so far  {score}")] if score else []),
        *_waits(job),
        Text(),
    ]


def _waits(job: WatchedJob) -> list[RenderableType]:
    return [Text(harmless(line), style=WARN) for line in job.waits]


def _one_line(job: WatchedJob) -> list[RenderableType]:
    if job.removed or job.figures is None:
        return [_line(f"{job.id}  {job.state}")]
    figures = job.figures
    progress = f"{figures.done:,}/{figures.row.items:,}"
    score = format_mean(measurement["value"]) if (measurement := measure_score(figures)) else ""
    fits = "  ".join(map(describe_shortly, select_current(figures.fits)))
    waits = f"  {job.waits[0] if job.waits else fits or describe(figures.row)}"
    cells = f"{job.id}  {job.state:<9}  {progress:>13}  {format_remaining(figures, job.pace):>14}  {score:>7}{waits}"
    return [_line(cells, WARN if job.waits else "")]
