"""Separate the calls and tokens that a job adopted from another job, so that no cost counts twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.engine.connection import Connection
from db.queue.stored_jobs import StoredJob
from db.transfer.adopt import find_adopted
from lumos_queue.reports.totals import totals_as_json


def apart_from_adopted(connection: Connection, job: StoredJob, report: Mapping[str, Any]) -> dict[str, Any]:
    """Return `adopted`, the figures that a job adopted, and `calls` and `tokens` without these figures.

    Return {} if the job adopted no episode. `report` has the `calls` and `tokens` of all episodes.
    """
    if not job.parent:
        return {}
    adoption = find_adopted(connection, job.id)
    if not adoption.episodes:
        return {}
    totals = totals_as_json(adoption.totals)
    return {
        "adopted": {
            "episodes": adoption.episodes,
            "of": job.items,
            "from": job.parent,
            **totals,
        },
        "calls": report["calls"] - totals["calls"],
        "tokens": {name: report["tokens"][name] - count for name, count in totals["tokens"].items()},
    }
