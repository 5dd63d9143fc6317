"""Count the items of a job that failed through infrastructure, by kind, with the command that runs them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.kinds.states import ItemState
from db.queries.failures import count_failures
from db.queue.endings import STORED
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Ending
from lumos_queue.reports.json_values import named


@dataclass(frozen=True, slots=True)
class FailureClass:
    """The items that failed for one kind of reason, and the command that runs them again."""

    kind: str = field(metadata=named("class"))
    items: int
    go_on: str


def failures_by_class(
    connection: Connection, job: StoredJob, items: Mapping[str, int], endings: Mapping[str, int]
) -> Sequence[FailureClass] | None:
    """Return the failures of a job, the most frequent first; None if there are none.

    `items` are the counts of its items by state, `endings` the counts of its episodes by ending.
    """
    if not (endings.get(Ending.INFRA_ERROR) or items.get(ItemState.QUARANTINED)) or job.origin in STORED:
        return None
    return [
        FailureClass(str(kind), count, f"lumos resume {job.id} --only {kind}")
        for kind, count in count_failures(connection, job.id).items()
    ]
