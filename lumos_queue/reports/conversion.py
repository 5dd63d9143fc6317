"""Report on a conversion: rows read, rows accepted for each module, reasons for rejection, check levels, costs.

The *turns* of a row are the planner's replies in the iterative formulation: one for each subgoal, and one to stop. By
this count, the web tasks of the LUMOS paper (7.3 actions per task, one action per subgoal) have its 8.25 turns.

A row is *accepted for both* if no verdict rejects the training row of a module. Only such rows are counted by check
level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queries.conversion import average_subgoals, count_judged, count_levels, count_rejected
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import LEVELS, MODULES
from lumos_queue.reports.conversion_filters import FilterVerdicts, count_filters
from lumos_queue.reports.conversion_outcomes import OutcomeRows, count_outcomes, total_outcomes
from lumos_queue.reports.cost import ModelCost, cost_figures
from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.remarks import remarks
from lumos_queue.reports.wall_time import wall_seconds

BOTH = "both"  #: beside the modules: the rows that are accepted for all of them


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The rows with a check level or a stronger one."""

    rows: int
    of_rows_in: float  #: share of all rows
    of_accepted: float  #: share of the rows that are accepted for both modules


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionFigures:
    """The part of a conversion's report that other jobs do not have."""

    source: str
    rows_in: int
    rows_per_second: float | None  #: judged rows per second of the job's wall time
    accepted: Mapping[str, int]  #: rows by module, and those of BOTH
    levels: Mapping[str, int]  #: rows accepted for both modules by check level, the strongest first
    at_least: Mapping[str, LevelRows]  #: by check level, the weakest first
    verdicts: Sequence[FilterVerdicts]  #: the most frequent first
    average_turns: float | None  #: of the rows accepted for the planner; None without any
    remarks: Sequence[str]
    outcomes: Sequence[OutcomeRows]
    outcome_totals: Mapping[str, int]  #: rows by outcome
    cost: ModelCost | None = field(default=None, metadata=OPTIONAL)  #: of the teacher
    vision: str | None = field(default=None, metadata=OPTIONAL)  #: as in the request
    reasks: int | None = field(default=None, metadata=OPTIONAL)  #: rows; None without a teacher


def measure_conversion(connection: Connection, job: StoredJob) -> ConversionFigures:
    """Return the part of a conversion's report that other jobs do not have."""
    rejected_rows, (judged_rows, asked_again) = count_rejected(connection, job.id), count_judged(connection, job.id)
    rejections = rejected_rows.by_module | {BOTH: rejected_rows.rows}
    accepted_rows = {name: judged_rows - rejections.get(name, 0) for name in (*MODULES, BOTH)}
    levels, verdicts = _levels(connection, job.id), count_filters(connection, job.id)
    outcomes, has_teacher = count_outcomes(connection, job, levels), bool(job.spec.get("teacher"))
    return ConversionFigures(
        source=job.spec.get("source", job.benchmark),
        rows_in=job.items,
        rows_per_second=_speed(connection, job, judged_rows),
        accepted=accepted_rows,
        levels=levels,
        at_least=_at_least(levels, job.items, accepted_rows[BOTH]),
        verdicts=verdicts,
        average_turns=_average_turns(connection, job.id),
        remarks=remarks(job, judged_rows, verdicts),
        outcomes=outcomes,
        outcome_totals=total_outcomes(outcomes),
        cost=cost_figures(connection, job) if has_teacher else None,
        vision=(job.spec.get("vision") or None) if has_teacher else None,
        reasks=asked_again if has_teacher else None,
    )


def _speed(connection: Connection, job: StoredJob, judged_rows: int) -> float | None:
    """Return the judged rows per second of the job's wall time."""
    seconds = wall_seconds(connection, job)
    return round(judged_rows / seconds, 2) if seconds else None


def _levels(connection: Connection, job: str) -> dict[str, int]:
    """Count the rows accepted for both modules by check level, the strongest first."""
    counts = count_levels(connection, job)
    return {level: counts[level] for level in reversed(LEVELS) if level in counts}


def _at_least(levels: dict[str, int], rows: int, accepted_rows: int) -> dict[str, LevelRows]:
    """Return, for each level that occurs, number and shares of the rows with that or a stronger level.

    The weakest level is first. `rows` is the number of all rows, `accepted_rows` that of the accepted rows.
    """
    present_levels = [level for level in LEVELS if level in levels]
    counts = {
        level: sum(levels[stronger] for stronger in present_levels[index:])
        for index, level in enumerate(present_levels)
    }
    return {
        level: LevelRows(count, round(count / rows, 6), round(count / accepted_rows, 6))
        for level, count in counts.items()
    }


def _average_turns(connection: Connection, job: str) -> float | None:
    """Return the average turns of the rows accepted for the planner; None if there are none."""
    mean = average_subgoals(connection, job)
    return None if mean is None else round(mean + 1, 3)
