"""Conditions on instants that stay right if the database's clock is set back.

An instant in the future is a deadline, and no deadline is further away than the longest wait of its kind. A deadline
that is further away was stored before the clock was set back: it counts as past. docs/decisions/0050 has the reasons.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, SQLColumnExpression, and_, case, or_

from db.engine.connection import now

ITEM_WAIT_SECONDS = 900.0  #: the longest wait of an item before it is retried
JOB_WAIT_SECONDS = (
    60.0  #: the longest wait of a job for a server, and the longest trust in a process that stores or removes a job
)


def is_due(deadline: SQLColumnExpression[float], longest: float) -> ColumnElement[bool]:
    """Whether a deadline has passed, or is more than `longest` seconds away."""
    return or_(deadline <= now(), deadline > now() + longest)


def is_recent(instant: SQLColumnExpression[float], seconds: float) -> ColumnElement[bool]:
    """Whether an instant is less than `seconds` from now, in either direction."""
    return and_(instant > now() - seconds, instant < now() + seconds)


def is_older(instant: SQLColumnExpression[float], seconds: SQLColumnExpression[float]) -> ColumnElement[bool]:
    """Whether an instant is at least `seconds` ago. An instant in the future counts as older: it was stored before the
    clock was set back."""
    return or_(instant <= now() - seconds, instant > now())


def now_after(start: SQLColumnExpression[float] | SQLColumnExpression[float | None]) -> ColumnElement[float]:
    """Return the SQL of an end time that is never before the start: now, or `start` if that is later."""
    return case((start > now(), start), else_=now())
