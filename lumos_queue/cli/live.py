"""Show the live progress of a job. It is read from the database, so any process may do the work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from db.engine.connection import Connection, Database
from db.engine.lease import Lease
from db.kinds.pools import describe_lack
from db.kinds.states import OPEN, UNFINISHED, ItemState, JobState
from db.queries.jobs import get_job
from db.queue.approval_waits import HOW
from db.queue.schedule import awaits_job
from db.queue.sessions import jobs_held, live_sessions, traffic_of
from db.queue.stored_jobs import StoredJob
from lumos_queue.cli import output
from lumos_queue.cli.failure_notice import FailureNotice
from lumos_queue.cli.job_block import format_line, job_block
from lumos_queue.cli.outage import Outage, format_silence
from lumos_queue.errors import DatabaseFailure
from lumos_queue.live.figures import JobFigures, read_figures
from lumos_queue.live.fit_progress import describe_phase
from lumos_queue.live.pace import Pace
from lumos_queue.live.waits import describe_failures
from lumos_queue.settings import Settings
from lumos_queue.util.wording import format_limit, plural
from workers.patience import Patience, format_give_up

if TYPE_CHECKING:
    from workers.context import WorkerContext

MAX_POLL_SECONDS = 4.0  #: between two reads of the database, so that an outage is reported within 5 s
LINE_SECONDS = 5.0  #: between lines if standard error is not a terminal
STALL_SECONDS = 60.0  #: without progress, after which the likely cause is reported
FIT_STALL_SECONDS = 600.0  #: the same while a training process works on an item: without a step or a new phase


class Progress:
    """A context in which `show` prints the job's progress: a live block on a terminal, else lines."""

    def __init__(self, database: Database, settings: Settings, job: str, process: WorkerContext | None = None):
        """`process` is the context of the worker, if this process works on the job."""
        self.database, self.settings, self.job, self.process = database, settings, job, process
        self.state: str = JobState.QUEUED
        self.pause = 0.5  #: seconds to wait before the next call of `show`
        self._console = output.console(stderr=True)
        self._live: Any = None
        self._last_progress = time.monotonic()
        self._pace = Pace()
        self._completed: tuple[object, ...] = ()  # what shows progress, as of the last read
        self._wait_reason = ""  # what the job waits for
        self._endpoint, self._silence = Outage(self._report), Outage(self._report)
        self._failures = FailureNotice(lambda line: output.say(output.harmless(f"job {job}: {line}")))
        self._patience = Patience()
        self.awaits = False  #: whether all remaining items wait for a person's answer
        self.given_up = ""  #: the reason to stop, as text: an outage that only a person can end
        self._line_at = 0.0

    def __enter__(self) -> Progress:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live:
            self._live.__exit__(*exception)

    @contextmanager
    def hide(self) -> Iterator[None]:
        """Hide the live block while something else is printed."""
        self.__exit__(None, None, None)
        self._live = None
        try:
            yield
        finally:
            self.__enter__()

    def show(self) -> str:
        """Read and print the progress. Return the job's state as it was last read."""
        former_count = self._completed
        try:
            self._update()
        except DatabaseFailure as error:  # the database may come back, and the work then continues
            self._silence.update(format_silence(error), False)
            self.pause = MAX_POLL_SECONDS
        else:
            self._silence.update("", True)
        self._notice_an_outage(self._completed != former_count)
        return self.state

    def _notice_an_outage(self, has_progress: bool) -> None:
        outage = self.process.outage if self.process else None
        self._endpoint.update(str(outage) if outage else self._wait_reason, has_progress)
        is_over = self._patience.is_over(outage, has_progress)
        self.given_up = format_give_up(outage) if outage and is_over else ""

    def _report(self, text: str) -> None:
        output.say(output.harmless(f"job {self.job} {text}"))

    def _update(self) -> None:
        start_time = time.monotonic()
        with self.database.engine.connect() as connection:
            job = get_job(connection, self.job)
            self.state = job.state
            figures = read_figures(connection, job)
            open_states = {state for state in UNFINISHED if figures.items.get(state)}
            self.awaits = job.state in OPEN and open_states == {ItemState.AWAITING}
            holder = figures.holder
            outage = holder.state in OPEN and HOW not in holder.waiting and not awaits_job(holder)
            self._wait_reason = (holder.waiting if outage else "") or self._find_lack(connection, holder)
            self._pace.observe(figures.done, figures.tokens)
            self._notice_a_stall(connection, figures)
            failures = describe_failures(figures)
            self._failures.update(figures.failing.reason if figures.failing else "", failures)
            if self._live:
                reason = holder.waiting or self._wait_reason
                waits = [f"waiting: {reason}"] if reason else self._describe_traffic(connection)
                waits += [failures] * bool(failures)
                self._live.update(job_block(figures, self._pace, waits), refresh=True)
            elif not output.as_json and time.monotonic() - self._line_at > LINE_SECONDS:
                self._line_at = time.monotonic()
                output.say(format_line(figures))
        # These reads must cost the database little, however large the job is.
        self.pause = min(max(0.5, 20 * (time.monotonic() - start_time)), MAX_POLL_SECONDS)

    def _find_lack(self, connection: Connection, job: StoredJob) -> str:
        """Return the reason why no live worker can run the job, or '' if a worker can or does."""
        if job.state not in OPEN:
            return ""
        lack = describe_lack(live_sessions(connection, Lease(self.settings.lease_seconds)), job.pool)
        return "" if lack and any(job.id in job_ids for job_ids in jobs_held(connection).values()) else lack

    def _describe_traffic(self, connection: Connection) -> list[str]:
        """Return a line about the traffic of each endpoint that has requests in flight."""
        traffic = traffic_of(live_sessions(connection, Lease(self.settings.lease_seconds)))
        return [f"{url}: {use.describe()}" for url, use in traffic.items() if use.in_flight]

    def _notice_a_stall(self, connection: Connection, figures: JobFigures) -> None:
        """Print a line if no item has finished for long and no fit has progressed."""
        job, completed = figures.holder, _measure_progress(figures)
        fits = [fit for fit in figures.fits if fit.is_running]
        limit = FIT_STALL_SECONDS if fits else STALL_SECONDS
        if completed != self._completed:
            self._completed, self._last_progress = completed, time.monotonic()
        elif job.waiting or self._wait_reason:  # reported as an outage instead
            self._last_progress = time.monotonic()
        elif time.monotonic() - self._last_progress > limit and job.state in OPEN:
            self._last_progress = time.monotonic()
            worker_count = len(live_sessions(connection, Lease(self.settings.lease_seconds)))
            cause = "no worker is alive. Start one with: lumos worker"
            if worker_count and fits:
                output.say(f"no step for {format_limit(limit)}: {'; '.join(map(describe_phase, fits))}")
                return
            if worker_count:
                causes = [f"{plural(worker_count, 'worker')} alive", *self._describe_traffic(connection)]
                if len(causes) == 1 and figures.failing:  # the notice of failures has the reason
                    return
                cause = "; ".join(causes if len(causes) > 1 else [*causes, "items take longer than this"])
            output.say(f"no item has finished for {format_limit(STALL_SECONDS)}: {cause}")


def _measure_progress(figures: JobFigures) -> tuple[object, ...]:
    """Return what changes when the job progresses: items, those of the job that it awaits, and steps and phases."""
    fits = [(fit.progress.fit, fit.progress.phase, fit.progress.step, len(fit.restarts)) for fit in figures.fits]
    return figures.done, figures.awaited.done if figures.awaited else None, fits
