"""Report on a conversion: rows read, rows accepted for each module, reasons for rejection, check levels, costs.

The *turns* of a row are the planner's replies in the iterative formulation: one for each subgoal, and one to stop. By
this count, the web tasks of the LUMOS paper (7.3 actions per task, one action per subgoal) have its 8.25 turns.

A row is *accepted for both* if no verdict rejects the training row of a module. Only such rows are counted by check
level.
"""

from __future__ import annotations

from typing import Any

from db.engine.connection import Connection
from db.queries.conversion import average_subgoals, count_judged, count_levels, count_rejected, count_verdicts
from db.queue.stored_jobs import StoredJob
from lumos_queue.conversion.verdicts import VERDICTS
from lumos_queue.rationales.reasons import REASONS
from lumos_queue.records import LEVELS, MODULES
from lumos_queue.reports.conversion_outcomes import count_outcomes, total_outcomes
from lumos_queue.reports.cost import cost_figures
from lumos_queue.reports.remarks import remarks
from lumos_queue.reports.wall_time import wall_seconds


def conversion_report(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """Return the part of a conversion's report that other jobs do not have."""
    rejected_rows, (judged_rows, asked_again) = count_rejected(connection, job.id), count_judged(connection, job.id)
    rejections = rejected_rows.by_module | {"both": rejected_rows.rows}
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
        "outcomes": (outcomes := count_outcomes(connection, job, levels)),
        "outcome_totals": total_outcomes(outcomes),
    }
    if job.spec.get("teacher"):
        report |= cost_figures(connection, job)
        if job.spec.get("vision"):
            report["vision"] = job.spec["vision"]
        report["reasks"] = asked_again
    return report


def _speed(connection: Connection, job: StoredJob, judged_rows: int) -> float | None:
    """Return the judged rows per second of the job's wall time."""
    seconds = wall_seconds(connection, job)
    return round(judged_rows / seconds, 2) if seconds else None


def _levels(connection: Connection, job: str) -> dict[str, int]:
    """Count the rows accepted for both modules by check level, the strongest first."""
    counts = count_levels(connection, job)
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
    filters: dict[str, dict[str, Any]] = {}
    for verdict in count_verdicts(connection, job):
        figures = filters.setdefault(verdict.name, _describe_filter(verdict.name, verdict.rejects))
        figures[verdict.module] = verdict.rows
    return sorted(filters.values(), key=lambda figures: (-max(figures[module] for module in MODULES), figures["name"]))


def _describe_filter(name: str, rejects: bool) -> dict[str, Any]:
    meaning = REASONS.get(name) or VERDICTS.get(name, ((), ""))[1]
    return {"name": name, "meaning": meaning, "rejects": rejects, **dict.fromkeys(MODULES, 0)}


def _average_turns(connection: Connection, job: str) -> float | None:
    """Return the average turns of the rows accepted for the planner; None if there are none."""
    mean = average_subgoals(connection, job)
    return None if mean is None else round(mean + 1, 3)
