"""Read the population of an audit from the stored episodes, by stratum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.orm import aliased

from db.engine.conditions import Condition
from db.kinds.job_kinds import RUNS
from db.models import EpisodeRow, JobRow, SubgoalRow, VerdictRow
from db.queries.filter_sql import conditions, newest_score
from db.queries.filters import Filter, Term
from lumos_queue.records import Ending
from lumos_queue.scoring.annotation_strata import DEFAULT_KEYS, StratumKey, name_rule
from lumos_queue.scoring.sampling import AuditKind, side_of, stratum_of, stratum_of_run

#: An audit of annotations measures the acceptance check: it samples annotations that the check accepted for both
#: modules. An annotation that is rejected for one module keeps the level that it reached for the other.
ACCEPTED = Filter((Term("level", ">=", "format"), Term("verdict", "=", "accepted")))


def strata_of(
    connection: Connection,
    query: Filter,
    kind: AuditKind = AuditKind.ANNOTATIONS,
    keys: Sequence[StratumKey] = DEFAULT_KEYS,
) -> dict[str, list[int]]:
    """Return the ids of the episodes that meet the filter and can be sampled, by stratum.

    `keys`: the properties that are part of the name of a stratum of annotations, beside the benchmark.
    """
    strata: dict[str, list[int]] = {}
    for episode, stratum in name_strata(connection, query, kind, keys):
        strata.setdefault(stratum, []).append(episode)
    return strata


def name_strata(
    connection: Connection, query: Filter, kind: AuditKind, keys: Sequence[StratumKey]
) -> Iterator[tuple[int, str]]:
    """Yield (id, stratum) of the episodes of `strata_of`, in the order of ids."""
    members = conditions_of_members(connection, query, kind)
    subgoals = (
        select(func.count())
        .where(SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
        .scalar_subquery()
    )
    rules = _name_rules(connection) if StratumKey.RULE in keys else {}
    notes = _read_notes(connection, members) if StratumKey.NOTE in keys else {}
    judgement: Any = newest_score(connection) if kind == AuditKind.RUNS else EpisodeRow.level
    rows = connection.execute(
        select(EpisodeRow.id, EpisodeRow.job, JobRow.benchmark, judgement, subgoals, JobRow.main_metric)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*members)
        .order_by(EpisodeRow.id)
        .execution_options(yield_per=1000)
    )
    for episode, job, benchmark, value, count, metric in rows:
        if kind == AuditKind.RUNS:
            yield episode, stratum_of_run(benchmark, side_of(value, metric), count)
        else:
            yield episode, stratum_of(benchmark, value, count, rules.get(job, ""), notes.get(episode, ()), keys)


def count_members(connection: Connection, query: Filter, kind: AuditKind, limit: int) -> int:
    """Return the size of an audit's population, or `limit` + 1 if it is larger than `limit`."""
    members = (
        select(EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*conditions_of_members(connection, query, kind))
        .limit(limit + 1)
        .subquery()
    )
    return connection.execute(select(func.count()).select_from(members)).scalar_one()


def conditions_of_members(connection: Connection, query: Filter, kind: AuditKind) -> list[Condition]:
    """Return the conditions for accepted annotations, or for runs that no failure of infrastructure ended."""
    if kind == AuditKind.ANNOTATIONS:
        return conditions(connection, query & ACCEPTED)
    return [*conditions(connection, query), JobRow.kind.in_(RUNS), EpisodeRow.ending != Ending.INFRA_ERROR]


def _name_rules(connection: Connection) -> dict[str, str]:
    """Return the name of the rules of each job that can have annotations."""
    query = select(JobRow.id, JobRow.origin, JobRow.spec).where(JobRow.kind.not_in(RUNS))
    return {job: name_rule(origin, spec) for job, origin, spec in connection.execute(query)}


def _read_notes(connection: Connection, members: Sequence[Condition]) -> dict[int, list[str]]:
    """Return the names of the verdicts on accepted annotations, which reject nothing, by episode."""
    verdict = aliased(VerdictRow)  # the conditions of the filter have subqueries of the same table
    rows = connection.execute(
        select(verdict.episode, verdict.name)
        .join(EpisodeRow, EpisodeRow.id == verdict.episode)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        .where(*members)
        .distinct()
    )
    notes: dict[int, list[str]] = {}
    for episode, name in rows:
        notes.setdefault(episode, []).append(name)
    return notes
