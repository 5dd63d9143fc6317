"""Store what training processes report while they work on an item. Accepted steps are in db/queue/training_steps.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, and_, insert, select, update

from db.engine.connection import Database, clock, now
from db.engine.rows.training import PROGRESS_FIGURES
from db.kinds.states import ItemState
from db.models import Item, TrainingProgressRow
from db.queue.fence import hold_fence
from lumos_queue.records import FitProgress

NO_CLAIM = 0
MAX_RESTARTS = 100  #: restarts of a fit that are kept, the latest
#: Figures that a process does not know before it has loaded its checkpoint.
_OF_PHASE = ("phase", "memory_estimate")


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The newest report of the training process of an item."""

    item: int
    progress: FitProgress
    phase_seconds: float  #: that the phase has lasted
    points: Sequence[tuple[int, float]]  #: (step, loss or reward) of the item so far


def store_progress(database: Database, session: int, report: ProgressReport) -> None:
    """Store a report, unless the session does not hold its item. Raises Fenced if the session was declared dead."""
    with database.writer.begin() as connection:
        hold_fence(connection, session)
        _store(connection, session, report)


def _store(connection: Connection, session: int, report: ProgressReport) -> None:
    held = select(Item.job, Item.claim).where(
        Item.id == report.item, Item.session == session, Item.state == ItemState.CLAIMED
    )
    held_item = connection.execute(held).first()
    if held_item is None:
        return
    progress, table = report.progress, TrainingProgressRow
    is_own = and_(table.job == held_item.job, table.fit == progress.fit)
    stored = connection.execute(select(*table.__table__.c).where(is_own)).first()
    values: dict[str, Any] = {"session": session, "at": now(), "phase_seconds": report.phase_seconds}
    if stored is not None and progress.start_step is None:
        values |= {name: getattr(progress, name) for name in _OF_PHASE if getattr(progress, name) is not None}
    else:
        values |= {name: getattr(progress, name) for name in PROGRESS_FIGURES if name != "fit"}
        values |= {"item": report.item, "points": [list(point) for point in report.points]}
        # Without a claim, the process has not reported yet where it continues.
        values["claim"] = NO_CLAIM if progress.start_step is None else held_item.claim
        values["restarts"] = [] if stored is None else _restarts(connection, stored, report, held_item.claim)
    if stored is None:
        connection.execute(insert(table).values(job=held_item.job, fit=progress.fit, **values))
    else:
        connection.execute(update(table).where(is_own).values(**values))


def _restarts(connection: Connection, stored: Row[Any], report: ProgressReport, claim: int) -> list[dict[str, float]]:
    """Return the restarts of the fit: those in the `stored` row, and a new one if another process has continued it."""
    step = report.progress.start_step or 0
    is_same = (stored.item, stored.claim) in ((report.item, claim), (report.item, NO_CLAIM))
    is_next = stored.item != report.item and stored.step <= step  # the next window, after the end of the former one
    if is_same or is_next:
        return stored.restarts
    restart = {"step": step, "lost": max(0, stored.step - step), "at": clock(connection)}
    return [*stored.restarts, restart][-MAX_RESTARTS:]
