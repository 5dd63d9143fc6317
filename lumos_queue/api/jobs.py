"""Handles of jobs: inspect a job, wait for it, stop it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import db.queries.jobs
import db.queue.job_changes
from db.engine.connection import clock
from db.engine.lease import Lease
from db.kinds.states import ItemState, JobState
from lumos_queue.api.connect import open_deployment
from lumos_queue.api.episodes import Episodes, episodes
from lumos_queue.api.start import STOPPED, begin_job, run_of
from lumos_queue.errors import EndpointDown, InfrastructureError, NeedsAttention, SpecError
from lumos_queue.reports.job_list import describe_jobs
from lumos_queue.reports.job_list import list_jobs as list_stored
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.listed_job import ListedJob
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.filters import read_job_where
from lumos_queue.submission.requests.checks import check_number
from lumos_queue.submission.resume import check_resume
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.wording import format_interval, format_limit, format_score
from workers.embedded_run import EmbeddedRun
from workers.patience import Patience, format_give_up

if TYPE_CHECKING:
    from lumos_queue.api.results import Comparison, Report
    from lumos_queue.review.scoring import ScoringOutcome

POLL_SECONDS = 0.25  #: interval of polls in `wait` at first; it grows up to MAX_POLL_SECONDS
MAX_POLL_SECONDS = 2.0
LINE_SECONDS = 5.0  #: interval of lines of progress


def list_jobs(where: str = "", *, limit: int = 20, deployment: Settings | None = None) -> list[JobHandle]:
    """Return at most `limit` jobs that meet a filter of jobs (docs/queries.md), the newest first.

    Raises SpecError for a filter that cannot be read.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=5).wait()
    >>> [one.id == job.id for one in lq.list_jobs("benchmark=wordmath state=done", limit=5)]
    [True]
    """
    check_number("limit=", limit, int, 1, None)
    deployment = deployment or read_settings()
    with open_deployment(deployment) as database:
        condition = read_job_where(database, where)
        with database.engine.connect() as connection:
            rows, _ = list_stored(connection, condition, limit, Lease(deployment.lease_seconds))
    return [JobHandle(row.job, deployment) for row in rows]


def get_job(job: str, *, deployment: Settings | None = None) -> JobHandle:
    """Return the job whose id is or begins with `job`. Raises SpecError if no job or several jobs match.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=5).wait()
    >>> lq.get_job(job.id[:6]).state
    'done'
    >>> lq.get_job("zzzzzzzz")
    Traceback (most recent call last):
    lumos_queue.errors.SpecError: ...zzzzzzzz...
    """
    deployment = deployment or read_settings()
    with open_deployment(deployment) as database, database.engine.connect() as connection:
        return JobHandle(db.queries.jobs.get_job(connection, job).id, deployment)


class JobHandle:
    """A stored job. Every attribute but `id` reads the database again.

    All methods raise InfrastructureError when the database does not answer, and SpecError when the job was removed.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=20)
    >>> job.wait().facts["done"]
    20
    """

    def __init__(self, job: str, deployment: Settings):
        self.id = job  #: eight letters and digits
        self._deployment = deployment

    @property
    def state(self) -> str:
        """The job's state: queued, running, paused, cancelling, cancelled, failed or done (db.kinds.states)."""
        return str(self._row().state)

    @property
    def facts(self) -> dict[str, Any]:
        """The job's request, progress and score so far, in the form of a line of `lumos jobs --json`."""
        return as_json(self._describe())

    def _describe(self) -> ListedJob:
        with open_deployment(self._deployment) as database, database.engine.connect() as connection:
            row = db.queries.jobs.get_job(connection, self.id)
            return describe_jobs(connection, [row], Lease(self._deployment.lease_seconds), clock(connection))[0]

    def wait(
        self, progress: bool | Callable[[dict[str, Any]], None] = False, *, timeout: float | None = None
    ) -> JobHandle:
        """Wait until the job is done, paused, cancelled or failed. Return this handle.

        `progress`: if True, a line is printed on standard error every few seconds; a function is called with `facts`
        instead. `timeout`: after so many seconds TimeoutError is raised, and the job continues.

        Raises SpecError when the job failed, NeedsAttention when all remaining items wait for a person's approval, and
        EndpointDown when this process works on the job and an endpoint has refused all requests for a minute.
        """
        until = None if timeout is None else time.monotonic() + timeout
        run, patience, pause = run_of(self._deployment, self.id), Patience(), POLL_SECONDS
        report_time, completed = -LINE_SECONDS, -1
        if run:  # a short job ends before the first poll
            run.over.wait(pause if timeout is None else min(pause, timeout))
        while True:
            over = run is not None and run.over.is_set()  # before the row is read, so that the row is final
            row, counts = self._row_and_counts()
            has_answers, completed = counts.get(ItemState.DONE, 0) != completed, counts.get(ItemState.DONE, 0)
            if progress and (time.monotonic() - report_time >= LINE_SECONDS or row.state in STOPPED):
                report_time = time.monotonic()
                if progress is True:
                    _print_line(self._describe())
                else:
                    progress(self.facts)
            if row.state in STOPPED or over:
                return self._end_wait(row, run)
            self._check_outage(run, patience, has_answers)
            if counts.get(ItemState.AWAITING) and not counts.get(ItemState.OWED) and not counts.get(ItemState.CLAIMED):
                raise NeedsAttention(f"Job {self.id} waits for a person: lumos approve {self.id} --list")
            if until is not None and time.monotonic() >= until:
                raise TimeoutError(
                    f"Job {self.id} is {row.state} after {format_limit(timeout or 0.0)}, {completed:,} items are done."
                )
            remaining = MAX_POLL_SECONDS if until is None else max(0.0, until - time.monotonic())
            run.over.wait(min(pause, remaining)) if run else time.sleep(min(pause, remaining))
            pause = min(1.2 * pause, MAX_POLL_SECONDS)

    def report(self, by: str | Sequence[str] = ()) -> Report:
        """Return scores with intervals, endings, calls, tokens and times of the episodes so far.

        `by` names fields by which the scores are split: further columns of the data, or fields by which the benchmark
        groups. `report["by"]` has the groups of each field. Raises SpecError for a field that the job does not have.
        """
        with import_libraries():
            from lumos_queue.api.results import read_report

        return read_report(self._deployment, [self.id], _as_names(by))

    def compare(
        self, other: JobHandle | str, *, metric: str = "", common: bool = False, by: str | Sequence[str] = ()
    ) -> Comparison:
        """Compare the job `other` with this job, task by task: fixed and broken tasks, and the significance.

        `metric`: by default the main metric. `common`: compare only the tasks that both jobs have judged, also if the
        jobs differ or are incomplete. `by`: fields as in `report`; the p-values of their groups are corrected by Holm's
        method. Raises SpecError for jobs that cannot be compared.
        """
        with import_libraries():
            from lumos_queue.api.results import read_comparison

        name = other if isinstance(other, str) else other.id
        return read_comparison(self._deployment, [self.id, name], metric, common, _as_names(by))

    def episodes(self, where: str = "") -> Episodes:
        """Return the finished episodes of the job that meet a filter (docs/queries.md)."""
        return episodes(f"job={self.id} {where}", deployment=self._deployment)

    def score(self, scorer: Any) -> ScoringOutcome:
        """Run a scorer (an object or a name) on the finished episodes that lack its scores, and add these scores."""
        with import_libraries():
            from lumos_queue.api.results import add_scores

        return add_scores(self._deployment, self.id, scorer)

    def cancel(self) -> JobHandle:
        """Stop the job permanently; its stored episodes stay. Return this handle."""
        return self._change(db.queue.job_changes.cancel)

    def pause(self) -> JobHandle:
        """Stop the job until it is resumed. Return this handle."""
        return self._change(db.queue.job_changes.pause)

    def resume(self) -> JobHandle:
        """Resume the job. Items that were cancelled, quarantined or ended with infra_error run again.

        Returns this handle. Raises SpecError when this process does not have the plug-ins that the job needs.
        """
        with open_deployment(self._deployment) as database, database.engine.connect() as connection:
            check_resume(connection, self._deployment, db.queries.jobs.get_job(connection, self.id))
        self._change(db.queue.job_changes.resume)
        begin_job(self._deployment, self._row())
        return self

    def __repr__(self) -> str:
        try:
            return f"<JobHandle {_line(self._describe())}>"
        except (SpecError, InfrastructureError) as error:
            return f"<JobHandle {self.id}: {error}>"

    def _repr_html_(self) -> str:
        try:
            facts = self._describe()
        except (SpecError, InfrastructureError) as error:
            return f"<pre>{escape(f'{self.id}: {error}')}</pre>"
        fields = {
            "job": facts.job,
            "name": facts.name,
            "kind": facts.kind,
            "benchmark": facts.benchmark,
            "formulation": facts.formulation,
            "state": facts.real_state,
            "waits": facts.reason,
            "finished": f"{facts.done:,} of {facts.items:,}",
            "score": _score(facts),
        }
        rows = (f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in fields.items() if text)
        return f"<table>{''.join(rows)}</table>"

    def _row(self) -> Any:
        with open_deployment(self._deployment) as database, database.engine.connect() as connection:
            return db.queries.jobs.get_job(connection, self.id)

    def _row_and_counts(self) -> tuple[Any, dict[str, int]]:
        from db.queue.figures import progress

        with open_deployment(self._deployment) as database, database.engine.connect() as connection:
            return db.queries.jobs.get_job(connection, self.id), progress(connection, self.id)

    def _change(self, change: Callable[..., Any]) -> JobHandle:
        with open_deployment(self._deployment) as database:
            change(database, self.id)
        return self

    def _end_wait(self, row: Any, run: EmbeddedRun | None) -> JobHandle:
        if row.state == JobState.FAILED:
            raise SpecError(f"Job {self.id} failed: {row.waiting}")
        if run is not None and run.failure is not None and row.state not in STOPPED:
            raise run.failure
        return self

    def _check_outage(self, run: EmbeddedRun | None, patience: Patience, has_answers: bool) -> None:
        outage = run.context.outage if run else None
        if patience.is_over(outage, has_answers) and outage is not None and run is not None:
            run.given_up.set()
            raise EndpointDown(
                f"Job {self.id} {format_give_up(outage)}. Resume it with: resume()", status=outage.status
            )


def _as_names(by: str | Sequence[str]) -> Sequence[str]:
    return [by] if isinstance(by, str) else list(by)


def _print_line(facts: ListedJob) -> None:
    print(_line(facts), file=sys.stderr, flush=True)


def _line(facts: ListedJob) -> str:
    request = " ".join(filter(None, (facts.kind, facts.benchmark, facts.formulation)))
    parts = [
        f"{facts.job}: {request}, {facts.real_state}, {facts.done:,} of {facts.items:,}",
        _score(facts),
    ]
    return ", ".join([*filter(None, parts), *filter(None, (facts.reason,))])


def _score(facts: ListedJob) -> str:
    score = facts.score
    if not score:
        return ""
    interval = f" {format_interval(*score.ci95)}" if score.ci95 else ""
    return f"{score.metric} {format_score(score.value, score.bounds)}{interval}"
