"""How many items of a job infrastructure ended, by the kind of failure, and the command to run those again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from db.endings import STORED
from db.failures import count_failures
from db.states import ItemState


def failures_by_class(
    connection: Connection, job: Any, items: Mapping[str, int], endings: Mapping[str, int]
) -> dict[str, Any]:
    """`failures` of a job's row, the commonest first; empty if there are none. `items`, `endings`: its counts."""
    if not (endings.get("infra_error") or items.get(ItemState.QUARANTINED)) or job.origin in STORED:
        return {}
    return {
        "failures": [
            {"class": str(kind), "items": count, "go_on": f"lumos resume {job.id} --only {kind}"}
            for kind, count in count_failures(connection, job.id).items()
        ]
    }
