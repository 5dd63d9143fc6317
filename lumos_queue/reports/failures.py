"""Count the items of a job that failed through infrastructure, by kind, with the command that runs them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.engine.connection import Connection
from db.kinds.states import ItemState
from db.queries.failures import count_failures
from db.queue.endings import STORED
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Ending


def failures_by_class(
    connection: Connection, job: StoredJob, items: Mapping[str, int], endings: Mapping[str, int]
) -> dict[str, Any]:
    """Return `failures` of a job, the most frequent first; {} if there are none.

    `items` are the counts of its items by state, `endings` the counts of its episodes by ending.
    """
    if not (endings.get(Ending.INFRA_ERROR) or items.get(ItemState.QUARANTINED)) or job.origin in STORED:
        return {}
    return {
        "failures": [
            {"class": str(kind), "items": count, "go_on": f"lumos resume {job.id} --only {kind}"}
            for kind, count in count_failures(connection, job.id).items()
        ]
    }
