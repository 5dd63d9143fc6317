"""Read the state of the jobs that a person watches."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection, clock
from db.engine.lease import Lease
from db.kinds.states import JobState
from db.queries.jobs import find_job
from db.queries.open_jobs import list_open_ids
from db.queue.sessions import LiveSession, jobs_held, live_sessions
from lumos_queue.live.errors import ErrorGroup, ErrorReader
from lumos_queue.live.figures import JobFigures, read_figures
from lumos_queue.live.fit_curves import CurveReader
from lumos_queue.live.fit_progress import select_current
from lumos_queue.live.loads import Load, read_loads
from lumos_queue.live.pace import Pace
from lumos_queue.live.waits import find_waits, is_silent
from lumos_queue.reports.fit_curve import FitCurve
from lumos_queue.settings import Settings
from lumos_queue.util.wording import plural
from workers.describe import roles_of

#: States that a job does not leave by itself. A paused job may be resumed at any moment, so it stays watched.
ENDED = (JobState.DONE, JobState.CANCELLED, JobState.FAILED, JobState.REMOVED)


@dataclass(slots=True)
class WatchedJob:
    """A watched job. Each read of the database updates it."""

    id: str
    pace: Pace = field(default_factory=Pace)
    errors_read: ErrorReader = field(default_factory=ErrorReader)
    figures: JobFigures | None = None  #: None before the first read, and if it was removed before that
    removed: bool = False
    waits: list[str] = field(default_factory=list)
    errors: list[ErrorGroup] = field(default_factory=list)
    curve_reader: CurveReader = field(default_factory=CurveReader)
    curves: list[FitCurve] = field(default_factory=list)  #: of the fits at work, if `WatchedJobs` reads them

    @property
    def state(self) -> str:
        return JobState.REMOVED if self.removed else self.figures.row.state if self.figures else JobState.QUEUED


class WatchedJobs:
    """All watched jobs with their workers and endpoints. `read` updates them from the database."""

    def __init__(self, settings: Settings, jobs: Sequence[str], with_curves: bool = False):
        """`jobs` are whole ids of jobs. If it is empty, all open jobs are watched, also those submitted later.

        `with_curves`: also read the curves of fits.
        """
        self._settings, self._all, self._with_curves = settings, not jobs, with_curves
        self.jobs = [WatchedJob(job) for job in jobs]
        self.loads: list[Load] = []
        self.workers: list[LiveSession] = []
        self.held: Mapping[int, Mapping[str, int]] = {}
        self.read_at: float | None = None  #: by the monotonic clock
        self.silence = ""  #: why the last read failed; empty: it succeeded

    def choose(self, jobs: Iterable[str]) -> None:
        """Watch these jobs (whole ids) instead of the earlier ones. If a job is among both, its state stays."""
        known_jobs = {job.id: job for job in self.jobs}
        self.jobs = [known_jobs.get(job) or WatchedJob(job) for job in sorted(set(jobs))]

    def find(self, job: str) -> WatchedJob:
        return next(watched_job for watched_job in self.jobs if watched_job.id == job)

    @property
    def ended(self) -> bool:
        """Whether all watched jobs have ended; False before the first read."""
        return self.read_at is not None and all(watched_job.state in ENDED for watched_job in self.jobs)

    def describe_workers(self) -> str:
        """Return the numbers of live, busy and silent workers as text."""
        alive, silent = len(self.workers), sum(is_silent(session, self._settings) for session in self.workers)
        busy = sum(session.id in self.held and not is_silent(session, self._settings) for session in self.workers)
        if not alive:
            return "no worker is alive"
        text = f"{plural(alive - silent, 'worker')} alive, {busy:,} at work"
        return text + (f", {silent:,} silent" if silent else "")

    def read(self, connection: Connection) -> None:
        """Update all jobs, workers and loads. Raises DatabaseFailure if the database does not answer."""
        if self._all:
            known_ids = {watched_job.id for watched_job in self.jobs}
            self.jobs += [WatchedJob(job) for job in list_open_ids(connection) if job not in known_ids]
        self.workers = live_sessions(connection, Lease(self._settings.lease_seconds))
        self.held, moment = jobs_held(connection), clock(connection)
        for watched_job in self.jobs:
            self._read_job(connection, watched_job, moment)
        self.loads = self._read_loads(connection)
        self.read_at, self.silence = time.monotonic(), ""

    def _read_job(self, connection: Connection, watched_job: WatchedJob, moment: float) -> None:
        row = find_job(connection, watched_job.id)
        if row is None:
            watched_job.removed, watched_job.waits = True, []
            return
        if watched_job.figures and row.state in ENDED and row.state == watched_job.state:
            return
        watched_job.figures = read_figures(connection, row)
        if self._with_curves and watched_job.figures.fits:
            fits = select_current(watched_job.figures.fits)
            watched_job.curves = watched_job.curve_reader.read(connection, watched_job.id, fits)
        watched_job.pace.observe(watched_job.figures.done, watched_job.figures.tokens)
        watched_job.waits = find_waits(watched_job.figures, self.workers, self.held, moment, self._settings)
        watched_job.errors = watched_job.errors_read.read(connection, watched_job.id, watched_job.figures.endings)

    def _read_loads(self, connection: Connection) -> list[Load]:
        """Return the loads of the endpoints that jobs use which have not ended."""
        urls = (
            url
            for watched_job in self.jobs
            if watched_job.figures and watched_job.state not in ENDED
            for url in roles_of(watched_job.figures.row.spec).values()
        )
        return read_loads(connection, urls, self.workers, self._settings)
