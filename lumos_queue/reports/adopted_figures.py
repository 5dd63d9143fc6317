"""Separate the calls and tokens that a job adopted from another job, so that no cost counts twice."""

from __future__ import annotations

from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queue.stored_jobs import StoredJob
from db.transfer.adopt import find_adopted
from lumos_queue.reports.json_values import MERGED, named
from lumos_queue.reports.totals import ModelUse, measure_use


@dataclass(frozen=True, slots=True)
class AdoptedFigures:
    """The episodes that a job adopted, and the model calls that other jobs spent on them."""

    episodes: int
    of: int  #: items of the job
    parent: str = field(metadata=named("from"))  #: the job that they were adopted from
    use: ModelUse = field(metadata=MERGED)


def find_adopted_figures(connection: Connection, job: StoredJob) -> AdoptedFigures | None:
    """Return what a job adopted; None if it adopted no episode."""
    adoption = find_adopted(connection, job.id) if job.parent else None
    if not job.parent or adoption is None or not adoption.episodes:
        return None
    return AdoptedFigures(adoption.episodes, job.items, job.parent, measure_use(adoption.totals))
