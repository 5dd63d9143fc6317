"""Read the figures of a job from its sums (db/models/sums.py). The time does not depend on the number of items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, ScalarSelect, SQLColumnExpression, func, literal_column, select

from db.kinds.states import ItemState
from db.kinds.totals import EpisodeTotals
from db.models import CallSum, Item, ItemSum, JobRow, ScoreSum, VersionSum
from db.models.totals import read_totals, sum_columns

#: states of few items, which are neither pending nor ended; each has an index
_HELD = (
    ItemState.CLAIMED,
    ItemState.AWAITING,
)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the finished episodes of a job."""

    finished: int
    totals: EpisodeTotals


@dataclass(frozen=True, slots=True)
class ScoreCount:
    """The number of a job's episodes with this score. The score is the mean of `trials` values."""

    value: float
    trials: int
    episodes: int


_Number = TypeVar("_Number", int, float)


def _sum(column: SQLColumnExpression[_Number]) -> ColumnElement[_Number]:
    return func.coalesce(func.sum(column), 0)


def count_done_items() -> ScalarSelect[int]:
    """Return the subquery that counts the done items of the enclosing query's job."""
    of_job = (ItemSum.job == JobRow.id, ItemSum.state == ItemState.DONE)
    return select(_sum(ItemSum.items)).where(*of_job).correlate(JobRow).scalar_subquery()


def progress(connection: Connection, job: str) -> dict[str, int]:
    """Count the job's items by state; states without items are left out."""
    query = select(ItemSum.state, func.sum(ItemSum.items)).where(ItemSum.job == job).group_by(ItemSum.state)
    counts = {state: int(items) for state, items in connection.execute(query)}
    counts |= count_held_items(connection).get(job, {})
    items = connection.execute(select(JobRow.items).where(JobRow.id == job)).scalar() or 0
    counts[ItemState.OWED] = items - sum(counts.values())
    return {str(state): count for state, count in counts.items() if count > 0}


def count_held_items(connection: Connection) -> dict[str, dict[str, int]]:
    """Count the claimed items and the awaiting items of each job, by state. Jobs without such items are left out.

    The query of a state covers all jobs, so that it reads a small index (db/models/jobs.py) and not a job's items.
    """
    counts: dict[str, dict[str, int]] = {}
    for state in _HELD:
        # A literal, not a parameter: SQLite uses a partial index only if the statement contains its condition.
        is_held = Item.state == literal_column(f"'{state}'")
        job_of = Item.job.concat("")  # the concatenation keeps SQLite from reading all items by job
        for job, items in connection.execute(select(job_of, func.count()).where(is_held).group_by(job_of)):
            counts.setdefault(job, {})[state.value] = items
    return counts


def count_endings(connection: Connection, job: str) -> dict[str, int]:
    """Count the job's finished episodes by ending."""
    items = func.sum(ItemSum.items)
    rows = connection.execute(
        select(ItemSum.ending, items)
        .where(ItemSum.job == job, ItemSum.ending != "")
        .group_by(ItemSum.ending)
        .having(items > 0)
    )
    return {ending: int(episodes) for ending, episodes in rows}


def totals(connection: Connection, job: str) -> Totals:
    query = select(_sum(ItemSum.items).label("finished"), *sum_columns(ItemSum))
    row = connection.execute(query.where(ItemSum.job == job, ItemSum.ending != "")).one()
    return Totals(int(row.finished), read_totals(row))


def sum_running_scores(connection: Connection, job: str) -> tuple[float, int]:
    """Return (sum of the scores, scored episodes) of the job so far, by its main metric."""
    row = connection.execute(
        select(_sum(ScoreSum.value * ScoreSum.episodes), _sum(ScoreSum.episodes)).where(
            ScoreSum.job == job, ScoreSum.metric == select(JobRow.main_metric).where(JobRow.id == job).scalar_subquery()
        )
    ).one()
    return float(row[0]), int(row[1])


def count_scores(connection: Connection, job: str) -> dict[str, list[ScoreCount]]:
    """Count a job's episodes by metric and score, the lowest score first. An `infra_error` episode has no score."""
    episodes = func.sum(ScoreSum.episodes)
    keys = (ScoreSum.metric, ScoreSum.value, ScoreSum.trials)
    rows = connection.execute(
        select(*keys, episodes).where(ScoreSum.job == job).group_by(*keys).having(episodes > 0).order_by(*keys)
    )
    scores: dict[str, list[ScoreCount]] = {}
    for metric, value, trials, count in rows:
        scores.setdefault(metric, []).append(ScoreCount(float(value), int(trials), int(count)))
    return scores


def score_versions(connection: Connection, job: str) -> dict[str, dict[str, int]]:
    """Count the scored episodes of each metric by the version of the scorer."""
    episodes = func.sum(ScoreSum.episodes)
    keys = (ScoreSum.metric, ScoreSum.version)
    rows = connection.execute(
        select(*keys, episodes).where(ScoreSum.job == job).group_by(*keys).having(episodes > 0).order_by(*keys)
    )
    versions: dict[str, dict[str, int]] = {}
    for metric, version, count in rows:
        versions.setdefault(metric, {})[version] = int(count)
    return versions


def seconds_by_phase(connection: Connection, job: str) -> dict[str, float]:
    """Return the seconds in which episodes waited for each role's model, and those of actions under `actions`.

    Seconds of episodes that ran at the same time are added.
    """
    phases = {role: calls * means["seconds"] for role, calls, means in latency_by_role(connection, job)}
    query = connection.execute(select(_sum(ItemSum.action_seconds)).where(ItemSum.job == job))
    return phases | {"actions": max(0.0, float(query.scalar_one()))}


def latency_by_role(connection: Connection, job: str) -> list[tuple[str, int, dict[str, float]]]:
    """Return (role, model calls, mean seconds of a call by phase) of finished episodes.

    The phases are those of records.Completion. Replies that the task contains, and attempts that were given up, do not
    count.
    """
    phases = ("waited", "lost", "seconds", "queued")
    calls = func.sum(CallSum.calls)
    rows = connection.execute(
        select(CallSum.role, calls, *(func.sum(getattr(CallSum, phase)) for phase in phases))
        .where(CallSum.job == job)
        .group_by(CallSum.role)
        .having(calls > 0)
        .order_by(CallSum.role)
    )
    latencies: list[tuple[str, int, dict[str, float]]] = []
    for row in rows:
        role, count, *sums = tuple(row)
        means = {phase: max(0.0, total) / int(count) for phase, total in zip(phases, sums, strict=True)}
        latencies.append((role, int(count), means))
    return latencies


def calls_by_ending(connection: Connection, job: str) -> list[tuple[str, int, int, int]]:
    """Count the finished episodes by ending, subgoals and model calls: (ending, subgoals, model calls, episodes).

    Replies that the task contains count as calls here: a formulation makes as many calls, whoever answers them.
    """
    keys = (ItemSum.ending, ItemSum.subgoals, ItemSum.replies)
    items = func.sum(ItemSum.items)
    rows = connection.execute(
        select(*keys, items)
        .where(ItemSum.job == job, ItemSum.ending != "")
        .group_by(*keys)
        .having(items > 0)
        .order_by(*keys)
    )
    return [(ending, subgoals, replies, int(count)) for ending, subgoals, replies, count in rows]


def code_versions(connection: Connection, job: str) -> list[tuple[str, int]]:
    """Return (code version, finished episodes whose accepted attempt began with it), the most frequent first."""
    return _count_versions(connection, job).get("", [])


def prompt_heads(connection: Connection, job: str) -> dict[str, list[tuple[str, int]]]:
    """Return, by role, (digest of the first text of prompts, finished episodes with it), the most frequent first.

    That text does not depend on the task: a different digest means a different version of the prompts.
    """
    return {role: heads for role, heads in _count_versions(connection, job).items() if role}


def _count_versions(connection: Connection, job: str) -> dict[str, list[tuple[str, int]]]:
    episodes = func.sum(VersionSum.episodes)
    keys = (VersionSum.role, VersionSum.value)
    rows = connection.execute(
        select(*keys, episodes)
        .where(VersionSum.job == job)
        .group_by(*keys)
        .having(episodes > 0)
        .order_by(VersionSum.role, episodes.desc(), VersionSum.value)
    )
    versions: dict[str, list[tuple[str, int]]] = {}
    for role, value, count in rows:
        versions.setdefault(role, []).append((value, int(count)))
    return versions
