"""List jobs with their requests, states and scores. A page of the list takes a few queries."""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterator, Sequence

from db.engine.connection import Connection, clock
from db.engine.lease import Lease
from db.kinds.job_kinds import JobKind
from db.kinds.states import OPEN
from db.queries.damage import find_damage
from db.queries.filters import Filter, Term, parse_where
from db.queries.job_endpoints import load_served_models
from db.queries.job_filters import is_any_model, jobs_of_model
from db.queries.job_list import ItemCounts, ScoreSums, count_items, page_of_jobs, sum_scores
from db.queries.training_progress import StoredProgress, read_running
from db.queue.stored_jobs import StoredJob
from db.queue.tags import tags_of
from lumos_queue.formulations.registry import is_of_episodes
from lumos_queue.records import Origin
from lumos_queue.reports.listed_job import ListedFit, ListedJob, ScoreSoFar
from lumos_queue.reports.model_names import models_of, name_models
from lumos_queue.reports.real_state import RealState, real_states
from lumos_queue.reports.row_facts import describe_origin
from lumos_queue.reports.task_choice import is_by_outcome
from lumos_queue.row_origins.origins import read_row_origins
from lumos_queue.scoring.moments import Moments

_LOG = logging.getLogger(__name__)
#: What values of another type than their column's raise. SQLite stores any value in any column.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_PAGE = 200  #: jobs that are read at once if some may not match


def list_jobs(
    connection: Connection, job_filter: Filter, limit: int, lease: Lease, before: str = ""
) -> tuple[list[ListedJob], bool]:
    """Return the newest jobs that match the filter, at most `limit`, and whether older jobs match, too.

    If `before` is the id of a job, only older jobs count. Raises SpecError when `before` names no job.
    """
    jobs: list[ListedJob] = []
    for job in _iterate_jobs(connection, job_filter, limit + 1, lease, before):
        jobs.append(job)
        if len(jobs) > limit:
            return jobs[:limit], True
    return jobs, False


def find_jobs(connection: Connection, job_filter: Filter, lease: Lease) -> list[str]:
    """Return the ids of all jobs that match and are not damaged, the newest first."""
    jobs = _iterate_jobs(connection, job_filter, _PAGE, lease)
    return [job.job for job in jobs if job.real_state != RealState.DAMAGED]


def _iterate_jobs(
    connection: Connection, job_filter: Filter, size: int, lease: Lease, before: str = ""
) -> Iterator[ListedJob]:
    """Yield the descriptions of matching jobs. States and models are filtered here, because they are not columns."""
    computed_terms = [term for term in job_filter.terms if term.field in ("state", "model")]
    column_filter = Filter(tuple(term for term in job_filter.terms if term not in computed_terms))
    of_model = {term: frozenset(jobs_of_model(connection, term)) for term in computed_terms if term.field == "model"}
    now, size = clock(connection), _PAGE if computed_terms else size
    while True:
        rows = page_of_jobs(connection, column_filter, before, size)
        for job in describe_jobs(connection, rows, lease, now):
            if all(_fits(job, term, of_model.get(term, frozenset())) for term in computed_terms):
                yield job
        if len(rows) < size:
            return
        before = rows[-1].id


def describe_jobs(connection: Connection, rows: Sequence[StoredJob], lease: Lease, now: float) -> list[ListedJob]:
    """Describe jobs as `list_jobs` does; `now` is the time of the database's clock.

    The description of a damaged row has only its id and the damage. So has that of a job whose rows in other tables,
    such as its sums, cannot be read.
    """
    damage = {row.id: problem for row in rows if (problem := find_damage(row))}
    sound = [row for row in rows if row.id not in damage]
    descriptions = iter(_describe_readable(connection, sound, lease, now))
    return [_describe_damaged(row.id, damage[row.id]) if row.id in damage else next(descriptions) for row in rows]


def _describe_readable(connection: Connection, rows: Sequence[StoredJob], lease: Lease, now: float) -> list[ListedJob]:
    """Describe jobs whose own rows are readable. If this fails, describe each alone, to find the damaged job."""
    if not rows:
        return []
    try:
        return _describe_sound(connection, rows, lease, now)
    except _UNREADABLE as error:
        if len(rows) > 1:
            return [row for job in rows for row in _describe_readable(connection, [job], lease, now)]
        _LOG.warning("job %s cannot be described", rows[0].id, exc_info=error)
        return [_describe_damaged(rows[0].id, "rows that belong to it in other tables cannot be read")]


def _describe_damaged(job: object, problem: str) -> ListedJob:
    return ListedJob(job=str(job), real_state=str(RealState.DAMAGED), reason=problem)


def _describe_sound(connection: Connection, rows: Sequence[StoredJob], lease: Lease, now: float) -> list[ListedJob]:
    jobs = [row.id for row in rows]
    counts, sums, tags = count_items(connection, jobs), sum_scores(connection, jobs), tags_of(connection, jobs)
    served_models, origins = load_served_models(connection, jobs), read_row_origins(connection, rows)
    models = {row.id: models_of(row, served_models.get(row.id)) for row in rows}
    names = name_models(model for roles in models.values() for model in roles.values())
    fits = read_running(connection, [row.id for row in rows if row.kind == JobKind.TRAIN and row.state in OPEN])
    states = real_states(connection, rows, lease, {job: item_counts.lacking for job, item_counts in counts.items()})
    return [
        ListedJob(
            job=row.id,
            kind=row.kind,
            benchmark=row.benchmark,
            split=row.split,
            formulation=row.formulation,
            state=row.state,
            waiting=row.waiting,
            items=row.items,
            created_at=row.created_at,
            submitted_by=row.submitted_by,
            name=row.name,
            parent=row.parent,
            chosen=row.chosen,
            real_state=str(states[row.id].state),
            reason=states[row.id].reason,
            age=round(max(0.0, now - row.created_at), 1),
            done=counts.get(row.id, ItemCounts()).done,
            recipe=row.spec.get("recipe", ""),
            models={role: names[model] for role, model in models[row.id].items()},
            addresses={role: url for role, (url, _) in models[row.id].items()},
            tags=tags.get(row.id, {}),
            by_outcome=bool(row.chosen) and is_by_outcome(parse_where(row.chosen)),
            score=measure_sums(row, *sums[row.id]) if row.id in sums else None,
            row_origin=describe_origin(origins[row.id]) if row.id in origins else None,
            fits=list(map(_describe_fit, fits[row.id])) if row.id in fits else None,
        )
        for row in rows
    ]


def _describe_fit(fit: StoredProgress) -> ListedFit:
    progress = fit.progress
    return ListedFit(progress.fit, progress.phase, progress.step, progress.steps, fit.seconds_left)


def _fits(job: ListedJob, term: Term, of_model: Collection[str]) -> bool:
    """Return whether a term on `state` or `model` is true of a job; `of_model`: jobs with a matching stored model."""
    if term.field == "state":
        is_match = job.real_state == term.value
    else:
        names = (*job.models.values(), *job.addresses.values())
        is_match = job.job in of_model or is_any_model(term, names)
    return is_match != (term.operator == "!=")


def measure_sums(job: StoredJob, metric: str, sums: ScoreSums) -> ScoreSoFar | None:
    """Return the score of a job from the sums of its main metric, as in the report (reports/scores.py).

    `value` counts items without a score as wrong. `bounds` are the values with such items all wrong and all right;
    `ci95` covers both cases. Sums have no clusters, so `ci95` is None if scores are not independent, as for samples of
    a task, tasks that were derived from the same row, and runs that a judge compares. Return None if tasks have
    different weights, as in sample sets, or if a score is not a number.
    """
    request = job.spec.get("infer", job.spec)
    if (
        request.get("draw")
        or not all(map(math.isfinite, (sums.wv, sums.wwvv, sums.least, sums.greatest)))
        or not sums.w
    ):
        return None
    missing_items = max(0, job.items - sums.n)
    if sums.least < 0 or sums.greatest > 1:  # not a share
        return ScoreSoFar(metric, sums.n, job.items, round(sums.wv / sums.w, 6), ci95=None)
    moments = Moments(sums.n, sums.w, sums.wv, sums.ww, sums.wwv, sums.wwvv)
    heavy = sums.w / sums.n
    worst = moments.add(0.0, heavy, missing_items).interval() or (0.0, 0.0, 1.0)
    best = moments.add(1.0, heavy, missing_items).interval() or (0.0, 0.0, 1.0)
    is_clustered = request.get("samples", 1) > 1 or job.origin == Origin.DERIVED or is_of_episodes(job.formulation)
    value, ci95 = round(worst[0], 6), None if is_clustered else (round(worst[1], 6), round(best[2], 6))
    bounds = (value, round(best[0], 6)) if missing_items else None
    return ScoreSoFar(metric, sums.n, job.items, value, ci95, bounds)
