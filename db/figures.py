"""The figures of a job from its sums (db/models/sums.py): reading them takes no longer when the job is larger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, ScalarSelect, func, literal_column, select

from db.models import CallSum, Item, ItemSum, JobRow, ScoreSum, VersionSum
from db.states import ItemState

_HELD = (ItemState.CLAIMED, ItemState.AWAITING)  #: items that are neither owed nor ended: few, and each has an index


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the finished episodes of a job."""

    finished: int
    calls: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class ScoreCount:
    """How many episodes of a job have a score of that value, the mean of so many trials."""

    value: float
    trials: int
    episodes: int


def _sum(column: Any) -> Any:
    return func.coalesce(func.sum(column), 0)


def done_items() -> ScalarSelect[int]:
    """How many items are done of the job in the enclosing query."""
    mine = (ItemSum.job == JobRow.id, ItemSum.state == ItemState.DONE)
    return select(_sum(ItemSum.items)).where(*mine).correlate(JobRow).scalar_subquery()


def progress(connection: Connection, job: str) -> dict[str, int]:
    """How many items of the job are in each state; states without any are left out."""
    ended = select(ItemSum.state, func.sum(ItemSum.items)).where(ItemSum.job == job).group_by(ItemSum.state)
    found = {state: int(items) for state, items in connection.execute(ended)}
    found |= held_items(connection).get(job, {})
    items = connection.execute(select(JobRow.items).where(JobRow.id == job)).scalar() or 0
    found[ItemState.OWED] = items - sum(found.values())
    return {str(state): count for state, count in found.items() if count > 0}


def held_items(connection: Connection) -> dict[str, dict[str, int]]:
    """By job how many of its items are claimed and awaiting an answer; jobs without any are left out.

    Of all jobs at once: so each query walks over its own small index (db/models/jobs.py), and never over a job's items.
    """
    found: dict[str, dict[str, int]] = {}
    for state in _HELD:
        # In the statement itself: SQLite does not see that a parameter is what a partial index is made of.
        is_held = Item.state == literal_column(f"'{state}'")
        job_of = Item.job.concat("")  # else SQLite walks over the items in the order of their jobs
        for job, items in connection.execute(select(job_of, func.count()).where(is_held).group_by(job_of)):
            found.setdefault(job, {})[state.value] = items
    return found


def count_endings(connection: Connection, job: str) -> dict[str, int]:
    """How many finished episodes of the job ended in each way."""
    items = func.sum(ItemSum.items)
    rows = connection.execute(
        select(ItemSum.ending, items)
        .where(ItemSum.job == job, ItemSum.ending != "")
        .group_by(ItemSum.ending)
        .having(items > 0)
    )
    return {ending: int(episodes) for ending, episodes in rows}


def totals(connection: Connection, job: str) -> Totals:
    columns = (ItemSum.items, ItemSum.calls, ItemSum.prompt_tokens, ItemSum.completion_tokens)
    row = connection.execute(select(*map(_sum, columns)).where(ItemSum.job == job, ItemSum.ending != "")).one()
    return Totals(*map(int, row))


def running_score(connection: Connection, job: str) -> tuple[float, int]:
    """(sum of values, scored episodes) so far, by the main metric."""
    row = connection.execute(
        select(_sum(ScoreSum.value * ScoreSum.episodes), _sum(ScoreSum.episodes)).where(
            ScoreSum.job == job, ScoreSum.metric == select(JobRow.main_metric).where(JobRow.id == job).scalar_subquery()
        )
    ).one()
    return float(row[0]), int(row[1])


def count_scores(connection: Connection, job: str) -> dict[str, list[ScoreCount]]:
    """By metric the scores of a job's episodes, in the order of their values. An `infra_error` has none."""
    episodes = func.sum(ScoreSum.episodes)
    keys = (ScoreSum.metric, ScoreSum.value, ScoreSum.trials)
    rows = connection.execute(
        select(*keys, episodes).where(ScoreSum.job == job).group_by(*keys).having(episodes > 0).order_by(*keys)
    )
    found: dict[str, list[ScoreCount]] = {}
    for metric, value, trials, count in rows:
        found.setdefault(metric, []).append(ScoreCount(float(value), int(trials), int(count)))
    return found


def score_versions(connection: Connection, job: str) -> dict[str, dict[str, int]]:
    """Each metric's scored episodes by the version of the scorer that judged them."""
    episodes = func.sum(ScoreSum.episodes)
    keys = (ScoreSum.metric, ScoreSum.version)
    rows = connection.execute(
        select(*keys, episodes).where(ScoreSum.job == job).group_by(*keys).having(episodes > 0).order_by(*keys)
    )
    found: dict[str, dict[str, int]] = {}
    for metric, version, count in rows:
        found.setdefault(metric, {})[version] = int(count)
    return found


def seconds_by_phase(connection: Connection, job: str) -> dict[str, float]:
    """Seconds waiting for each role's model and running actions, added up over episodes that ran at the same time."""
    phases = {role: calls * means["seconds"] for role, calls, means in latency_by_role(connection, job)}
    acting = connection.execute(select(_sum(ItemSum.action_seconds)).where(ItemSum.job == job))
    return phases | {"actions": max(0.0, float(acting.scalar_one()))}


def latency_by_role(connection: Connection, job: str) -> list[tuple[str, int, dict[str, float]]]:
    """(role, model calls, mean seconds of a call by phase) of finished episodes; the phases: records.Completion.

    Replies that the task gave do not count as calls, and attempts that were given up do not count.
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
    found = []
    for row in rows:
        role, count, *sums = tuple(row)
        means = {phase: max(0.0, one) / int(count) for phase, one in zip(phases, sums, strict=True)}
        found.append((role, int(count), means))
    return found


def calls_by_ending(connection: Connection, job: str) -> list[tuple[str, int, int, int]]:
    """(ending, subgoals, model calls, episodes): how many episodes had so many subgoals and made so many calls.

    Replies that the task gave count as calls here, as the rule of how many calls an episode makes does not ask who
    answered.
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
    """(code version, finished episodes whose accepted attempt was begun by it), the commonest first."""
    return _count_versions(connection, job).get("", [])


def prompt_heads(connection: Connection, job: str) -> dict[str, list[tuple[str, int]]]:
    """By role (digest of the text that prompts begin with, finished episodes that were asked so), commonest first.

    The text does not depend on the task: another digest is another version of the prompts.
    """
    return {role: found for role, found in _count_versions(connection, job).items() if role}


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
    found: dict[str, list[tuple[str, int]]] = {}
    for role, value, count in rows:
        found.setdefault(role, []).append((value, int(count)))
    return found
