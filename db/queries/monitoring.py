"""The figures of a whole deployment, for monitoring: read from sums and small indexes only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, select

from db.engine.connection import now
from db.engine.lease import Lease
from db.engine.time_conditions import ITEM_WAIT_SECONDS, JOB_WAIT_SECONDS, is_due
from db.kinds.states import HIDDEN, OPEN, UNFINISHED, ItemState, JobState
from db.models import CallSum, EndpointCap, ExecutionRow, Item, ItemSum, JobRow, ToolCallRow, WorkerSessionRow
from db.queries.damage import sound_jobs
from db.queue.figures import progress
from db.queue.sessions import jobs_held, list_refused_messages, live_sessions, traffic_of
from db.queue.shares import EFFECTIVE
from lumos_queue.endpoints.traffic import Traffic

MAX_JOBS = 50  #: open jobs with their own figures, the oldest; the sums cover all jobs
MAX_ENDPOINTS = 50  #: endpoints with their own figures
MAX_LATENCIES = 5000  #: actions, and calls of tools, whose latencies are read


@dataclass(frozen=True, slots=True)
class DeploymentFigures:
    """The figures of a deployment at one moment."""

    jobs: dict[str, int]  #: by state
    open_jobs: dict[str, dict[str, int]]  #: items by state of each open job
    items: dict[tuple[str, str], int]  #: by state and ending: ended items of all jobs, unfinished items of `open_jobs`
    tokens: dict[str, int]  #: of finished episodes: prompt, completion
    calls: dict[str, tuple[int, float]]  #: model calls of finished episodes and their seconds, by role
    action_seconds: float  #: of finished episodes
    latencies: dict[str, Sequence[float]]  #: seconds of the actions, and calls of tools, of the episodes that run now
    queue_seconds: float  #: for how long the oldest due item has been pending; 0: none is due
    unattended: int  #: open jobs with a due item, of which no worker holds an item
    leases_lost: int  #: worker sessions that were declared dead, ever
    workers: dict[str, int]  #: at work, idle
    endpoints: dict[str, Traffic]
    caps: dict[str, int]
    rejected: dict[str, int]  #: messages by reason


def read_deployment(connection: Connection, lease: Lease) -> DeploymentFigures:
    """Read the figures of the deployment."""
    states = select(JobRow.state, func.count()).where(JobRow.state.not_in(HIDDEN)).group_by(JobRow.state)
    query = select(
        JobRow.__table__, now().label("clock"), is_due(JobRow.not_before_at, JOB_WAIT_SECONDS).label("due")
    ).where(JobRow.state.in_((*OPEN, JobState.CANCELLING)))
    rows = sound_jobs(connection.execute(query.order_by(JobRow.created_at).limit(MAX_JOBS)))
    open_jobs = {row.id: progress(connection, row.id) for row in rows}
    due = {row.id: seconds for row in rows if (seconds := _due_for(connection, row)) is not None}
    sessions, jobs_by_session = live_sessions(connection, lease), jobs_held(connection)
    busy = sum(session.id in jobs_by_session for session in sessions)
    active_jobs = {job for session in sessions for job in jobs_by_session.get(session.id, ())}
    ended_items = _count_ended_items(connection)
    prompt, completion, action_seconds = connection.execute(_SUMS).one()
    caps = select(EndpointCap.url, EFFECTIVE).order_by(EndpointCap.url).limit(MAX_ENDPOINTS)
    lost_leases = select(func.count()).where(WorkerSessionRow.ended_by.like("session %"))
    return DeploymentFigures(
        jobs=dict(connection.execute(states).all()),
        open_jobs=open_jobs,
        items=ended_items
        | {(state, ""): sum(counts.get(state, 0) for counts in open_jobs.values()) for state in UNFINISHED},
        tokens={"prompt": int(prompt), "completion": int(completion)},
        calls=_calls(connection),
        action_seconds=max(0.0, float(action_seconds)),
        latencies={"action": _latencies(connection, ExecutionRow), "call": _latencies(connection, ToolCallRow)},
        queue_seconds=max(due.values(), default=0.0),
        unattended=len(due.keys() - active_jobs),
        leases_lost=connection.execute(lost_leases).scalar_one(),
        workers={"at work": busy, "idle": len(sessions) - busy},
        endpoints=dict(list(traffic_of(sessions).items())[:MAX_ENDPOINTS]),
        caps=dict(connection.execute(caps).all()),
        rejected={row.reason: row.messages for row in list_refused_messages(connection)},
    )


_SUMS = select(
    func.coalesce(func.sum(ItemSum.prompt_tokens), 0),
    func.coalesce(func.sum(ItemSum.completion_tokens), 0),
    func.coalesce(func.sum(ItemSum.action_seconds), 0.0),
)


def _count_ended_items(connection: Connection) -> dict[tuple[str, str], int]:
    rows = connection.execute(
        select(ItemSum.state, ItemSum.ending, func.sum(ItemSum.items)).group_by(ItemSum.state, ItemSum.ending)
    )
    return {(state, ending): max(0, int(items)) for state, ending, items in rows}


def _calls(connection: Connection) -> dict[str, tuple[int, float]]:
    rows = connection.execute(
        select(CallSum.role, func.sum(CallSum.calls), func.sum(CallSum.seconds)).group_by(CallSum.role)
    )
    return {role: (max(0, int(calls)), max(0.0, float(seconds))) for role, calls, seconds in rows}


def _latencies(connection: Connection, table: type[ExecutionRow | ToolCallRow]) -> list[float]:
    active_items = select(Item.id).where(Item.state == ItemState.CLAIMED)
    query = select(table.seconds).where(table.episode.in_(active_items)).limit(MAX_LATENCIES)
    return sorted(connection.execute(query).scalars())


def _due_for(connection: Connection, job: Row[Any]) -> float | None:
    """Return for how many seconds the next item of a job has been due; None if no item is due or the job is not open.

    `job`: its row, with the columns `clock`, the time now, and `due`, whether the job is due.
    """
    if job.state not in OPEN or not job.due or job.awaits:
        return None
    query = select(Item.not_before_at).where(
        Item.job == job.id, Item.state == ItemState.OWED, is_due(Item.not_before_at, ITEM_WAIT_SECONDS)
    )
    item = connection.execute(query.order_by(Item.batch, Item.ordinal).limit(1)).first()
    if item is None:
        return None
    return max(0.0, job.clock - max(job.created_at, job.not_before_at, item.not_before_at))
