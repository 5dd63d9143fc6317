"""Read what training processes have reported last."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Exists, Row, Select, exists, func, select
from sqlalchemy.orm import aliased

from db.engine.connection import now
from db.engine.rows.training import PROGRESS_FIGURES
from db.kinds.states import ItemState
from db.models import Item, TrainingProgressRow, TrainingStepRow, WorkerSessionRow
from lumos_queue.records import FitPhase, FitProgress


class FitRestart(NamedTuple):
    """A process has continued a fit that another process had left."""

    step: int  #: after which it continued
    lost_steps: int  #: reported steps after it, which were repeated
    at: float  #: by the database's clock


@dataclass(frozen=True, slots=True)
class StoredProgress:
    """The newest report of a fit."""

    progress: FitProgress
    phase_seconds: float  #: that the phase has lasted until now, or until the process ended
    age_seconds: float  #: since the report was stored
    is_running: bool  #: whether the worker that reported it still works on it
    host: str  #: of the worker
    accepted_step: int  #: the newest step whose item has ended; 0: none
    points: Sequence[tuple[int, float]]  #: (step, loss or reward) after the accepted step
    restarts: Sequence[FitRestart]

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the last step from now; None if they are not known, after that step, and without a worker."""
        seconds, is_over = self.progress.seconds_left, self.progress.step == self.progress.steps
        return max(0.0, seconds - self.age_seconds) if self.is_running and seconds is not None and not is_over else None


def read_progress(connection: Connection, job: str) -> list[StoredProgress]:
    """Return the newest report of each fit of a job, in the order in which the job works on them."""
    return [report for _, report in _read_rows(connection, _select_reports().where(TrainingProgressRow.job == job))]


def read_running(connection: Connection, jobs: Collection[str]) -> dict[str, list[StoredProgress]]:
    """Return the newest reports of the fits that workers work on now, by job. Jobs without any are left out."""
    reports: dict[str, list[StoredProgress]] = {}
    if jobs:
        query = _select_reports().where(TrainingProgressRow.job.in_(jobs), _has_item())
        for job, report in _read_rows(connection, query):
            if report.is_running:
                reports.setdefault(job, []).append(report)
    return reports


def _select_reports() -> Select[Any]:
    table, steps = TrainingProgressRow, TrainingStepRow
    accepted_step = select(func.max(steps.step)).where(steps.job == table.job, steps.fit == table.fit).scalar_subquery()
    return (
        select(*table.__table__.c, _has_item().label("has_item"), WorkerSessionRow.host)
        .add_columns(accepted_step.label("accepted_step"), now().label("clock"))
        .join(Item, Item.id == table.item)
        .outerjoin(WorkerSessionRow, WorkerSessionRow.id == table.session)
        .order_by(Item.ordinal, table.fit)
    )


def _has_item() -> Exists:
    """Return whether the worker that wrote a report holds an item of its job, perhaps the next item of the fit."""
    item = aliased(Item)
    return exists().where(
        item.job == TrainingProgressRow.job,
        item.session == TrainingProgressRow.session,
        item.state == ItemState.CLAIMED,
    )


def _read_rows(connection: Connection, query: Select[Any]) -> Iterator[tuple[str, StoredProgress]]:
    """Yield each report with its job. A worker works on the fit of its newest report."""
    rows = connection.execute(query).all()
    newest: dict[tuple[str, int], float] = {}
    for row in rows:
        newest[row.job, row.session] = max(row.at, newest.get((row.job, row.session), row.at))
    for row in rows:
        yield row.job, _read_row(row, bool(row.has_item) and row.at == newest[row.job, row.session])


def _read_row(row: Row[Any], is_running: bool) -> StoredProgress:
    figures: dict[str, Any] = {name: getattr(row, name) for name in PROGRESS_FIGURES}
    figures["phase"] = FitPhase(row.phase)
    age = max(0.0, row.clock - row.at)  # the clock may have been set back
    accepted_step = row.accepted_step or 0
    return StoredProgress(
        FitProgress(**figures),
        row.phase_seconds + age * is_running,
        age,
        is_running,
        row.host or "",
        accepted_step,
        [(int(step), figure) for step, figure in row.points if step > accepted_step],
        [FitRestart(int(restart["step"]), int(restart["lost"]), restart["at"]) for restart in row.restarts],
    )
