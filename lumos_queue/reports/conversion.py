"""Report on a conversion: rows read, rows accepted for each module, reasons for rejection, check levels, costs.

The *turns* of a row are the planner's replies in the iterative formulation: one for each subgoal, and one to stop. By
this count, the web tasks of the LUMOS paper (7.3 actions per task, one action per subgoal) have its 8.25 turns.

A row is *accepted for both* if no verdict rejects the training row of a module. Only such rows are counted by check
level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, distinct, exists, func, select

from db.models import CompletionRow, EpisodeRow, Item, SubgoalRow, TaskRow, VerdictRow
from lumos_queue.conversion.verdicts import VERDICTS
from lumos_queue.rationales.reasons import REASONS
from lumos_queue.records import LEVELS, MODULES, Ending, Role
from lumos_queue.reports.conversion_outcomes import count_outcomes, total_outcomes
from lumos_queue.reports.cost import cost_figures
from lumos_queue.reports.remarks import remarks
from lumos_queue.reports.wall_time import wall_seconds


def conversion_report(connection: Connection, job: Any) -> dict[str, Any]:
    """Return the part of a conversion's report that other jobs do not have."""
    rejections = _count_rejected(connection, job.id)
    judged_rows = _count(connection, *_is_judged(job.id))
    accepted_rows = {name: judged_rows - rejections.get(name, 0) for name in (*MODULES, "both")}
    levels, verdicts = _levels(connection, job.id), _verdicts(connection, job.id)
    report: dict[str, Any] = {
        "source": job.spec.get("source", job.benchmark),
        "rows_in": job.items,
        "rows_per_second": _speed(connection, job, judged_rows),
        "accepted": accepted_rows,
        "levels": levels,
        "at_least": _at_least(levels, job.items, accepted_rows["both"]),
        "verdicts": verdicts,
        "average_turns": _average_turns(connection, job.id),
        "remarks": remarks(job.spec, judged_rows, verdicts),
        "outcomes": (outcomes := count_outcomes(connection, job, _is_judged(job.id), levels)),
        "outcome_totals": total_outcomes(outcomes),
    }
    if job.spec.get("teacher"):
        report |= cost_figures(connection, job)
        if job.spec.get("vision"):
            report["vision"] = job.spec["vision"]
        report["reasks"] = _count(connection, *_is_judged(job.id), EpisodeRow.calls > 1)
    return report


def _is_judged(job: str) -> tuple[ColumnElement[bool], ...]:
    """Return conditions for the episodes that were judged: those that ended, but not with infra_error."""
    return (EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.INFRA_ERROR)))


def _count(connection: Connection, *conditions: Any) -> int:
    return connection.execute(select(func.count()).select_from(EpisodeRow).where(*conditions)).scalar_one()


def _count_rejected(connection: Connection, job: str) -> dict[str, int]:
    """Count the rows rejected for each module, and as 'both' the rows rejected for at least one module."""
    query = (
        select(VerdictRow.module, func.count(distinct(VerdictRow.episode)))
        .join(EpisodeRow, EpisodeRow.id == VerdictRow.episode)
        .where(*_is_judged(job), VerdictRow.rejects)
    )
    by_module = {module: rows for module, rows in connection.execute(query.group_by(VerdictRow.module))}
    either = connection.execute(
        select(func.count(distinct(VerdictRow.episode)))
        .join(EpisodeRow, EpisodeRow.id == VerdictRow.episode)
        .where(*_is_judged(job), VerdictRow.rejects)
    ).scalar_one()
    return by_module | {"both": either}


def _speed(connection: Connection, job: Any, judged_rows: int) -> float | None:
    """Return the judged rows per second of the job's wall time."""
    seconds = wall_seconds(connection, job)
    return round(judged_rows / seconds, 2) if seconds else None


def _levels(connection: Connection, job: str) -> dict[str, int]:
    """Count the rows accepted for both modules by check level, the strongest first."""
    is_rejected = exists().where(VerdictRow.episode == EpisodeRow.id, VerdictRow.rejects)
    rows = connection.execute(
        select(EpisodeRow.level, func.count())
        .where(*_is_judged(job), EpisodeRow.level != "", ~is_rejected)
        .group_by(EpisodeRow.level)
    )
    counts = {level: count for level, count in rows}
    return {level: counts[level] for level in reversed(LEVELS) if level in counts}


def _at_least(levels: dict[str, int], rows: int, accepted_rows: int) -> dict[str, dict[str, Any]]:
    """Return, for each level that occurs, number and shares of the rows with that or a stronger level.

    The weakest level is first. `rows` is the number of all rows, `accepted_rows` that of the accepted rows.
    """
    present_levels = [level for level in LEVELS if level in levels]
    counts = {
        level: sum(levels[stronger] for stronger in present_levels[index:])
        for index, level in enumerate(present_levels)
    }
    return {
        level: {"rows": count, "of_rows_in": round(count / rows, 6), "of_accepted": round(count / accepted_rows, 6)}
        for level, count in counts.items()
    }


def _verdicts(connection: Connection, job: str) -> list[dict[str, Any]]:
    """Count the rows by filter and module, the most frequent filter first."""
    row_count = func.count()
    rows = connection.execute(
        select(VerdictRow.name, VerdictRow.rejects, VerdictRow.module, row_count)
        .join(EpisodeRow, EpisodeRow.id == VerdictRow.episode)
        .where(*_is_judged(job))
        .group_by(VerdictRow.name, VerdictRow.rejects, VerdictRow.module)
    )
    filters: dict[str, dict[str, Any]] = {}
    for name, rejects, module, count in rows:
        filters.setdefault(name, _describe_filter(name, bool(rejects)))[module] = count
    return sorted(filters.values(), key=lambda verdict: (-max(verdict[module] for module in MODULES), verdict["name"]))


def _describe_filter(name: str, rejects: bool) -> dict[str, Any]:
    meaning = REASONS.get(name) or VERDICTS.get(name, ((), ""))[1]
    return {"name": name, "meaning": meaning, "rejects": rejects, **dict.fromkeys(MODULES, 0)}


@dataclass(frozen=True, slots=True)
class ConvertedRow:
    """The result of a conversion for a row. `rejected` are the modules whose training row a verdict rejects."""

    row: str
    question: str
    judged: bool  #: whether its episode ended in a judgement
    rejected: frozenset[str]
    turns: int


def list_converted_rows(connection: Connection, job: str) -> list[ConvertedRow]:
    """Return all rows of a conversion in order, also those that are not judged."""
    rejections: dict[int, set[str]] = {}
    query = select(VerdictRow.episode, VerdictRow.module).join(EpisodeRow, EpisodeRow.id == VerdictRow.episode)
    for episode, module in connection.execute(query.where(*_is_judged(job), VerdictRow.rejects)):
        rejections.setdefault(episode, set()).add(module)
    counts = connection.execute(select(EpisodeRow.id, _subgoals()).where(*_is_judged(job)))
    subgoals = {episode: count for episode, count in counts}
    rows = connection.execute(
        select(Item.id, TaskRow.row, TaskRow.question)
        .join(TaskRow, TaskRow.id == Item.task)
        .where(Item.job == job)
        .order_by(Item.ordinal)
    )
    return [
        ConvertedRow(row, question, item in subgoals, frozenset(rejections.get(item, ())), subgoals.get(item, 0) + 1)
        for item, row, question in rows
    ]


def _average_turns(connection: Connection, job: str) -> float | None:
    """Return the average turns of the rows accepted for the planner; None if there are none."""
    rejected_episodes = select(VerdictRow.episode).where(VerdictRow.module == Role.PLANNER, VerdictRow.rejects)
    mean = connection.execute(
        select(func.avg(_subgoals()))
        .select_from(EpisodeRow)
        .where(*_is_judged(job), EpisodeRow.id.not_in(rejected_episodes))
    ).scalar()
    return None if mean is None else round(float(mean) + 1, 3)


def _subgoals() -> Any:
    """Return the SQL expression for an annotation's number of subgoals, counted after the teacher's last reply."""
    conditions = (CompletionRow.episode == EpisodeRow.id, CompletionRow.attempt == EpisodeRow.attempt)
    last = (
        select(func.max(CompletionRow.position))
        .where(*conditions, CompletionRow.role == Role.TEACHER)
        .correlate(EpisodeRow)
        .scalar_subquery()
    )
    return (
        select(func.count())
        .where(
            SubgoalRow.episode == EpisodeRow.id,
            SubgoalRow.attempt == EpisodeRow.attempt,
            SubgoalRow.position > func.coalesce(last, -1),
        )
        .correlate(EpisodeRow)
        .scalar_subquery()
    )
