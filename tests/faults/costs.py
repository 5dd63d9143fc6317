"""Compute the costs of a case from the database, its witnesses and the endpoint's log."""

from __future__ import annotations

import bisect
import time
from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from tests.faults.invariants import find_violations
from tests.faults.result import Result
from tests.faults.witness import read_recording_times, stale_rows

if TYPE_CHECKING:
    from tests.faults.deployment import Deployment

#: Maximal error of the time of a stored row, in seconds: SQLite's clock counts milliseconds.
BLUR = 0.01


def compute_result(deployment: Deployment, bound: int | None, repeats: int) -> Result:
    calls = deployment.endpoint.calls
    with deployment.database.engine.connect() as connection:

        def count(query: str, **values: object) -> int:
            return connection.execute(text(query), values).scalar_one()

        items, quarantined_items = (
            count("SELECT count(*) FROM item"),
            count("SELECT count(*) FROM item WHERE state = 'quarantined'"),
        )
        done_items = count("SELECT count(*) FROM item WHERE state = 'done'")
        right = count("SELECT count(*) FROM score WHERE metric = 'accuracy' AND value = 1")
        reached_items = items - count(
            "SELECT count(*) FROM item WHERE state NOT IN ('done', 'quarantined', :state)", state=deployment.expected
        )
        result = Result(
            database=connection.dialect.name,
            broker=deployment.broker_url.partition(":")[0],
            items=items,
            lost=items - reached_items,
            duplicated=max(0, count_repetitions(connection, calls) - repeats) + duplicate_rows(connection),
            stale=stale_rows(connection),
            broken=find_violations(connection, lease_seconds=deployment.settings.lease_seconds),
            needed=count("SELECT count(*) FROM completion"),
            at_endpoint=len(calls),
            bound=bound,
            recovery=recovery(connection, deployment.faults),
            seconds=round(time.monotonic() - deployment.began, 1),
        )
    result.judge()
    if right != done_items - deployment.failing:
        result.problems.append(f"{right} of {done_items} done items are right, {deployment.failing} should have failed")
    if quarantined_items != deployment.quarantined:
        result.problems.append(f"{quarantined_items} items are in quarantine, not {deployment.quarantined}")
    return result


def count_repetitions(connection: Connection, calls: list[dict]) -> int:
    """Count the calls whose reply was stored before they arrived."""
    times = read_recording_times(connection)
    return sum(call["sha256"] in times and call["time"] > times[call["sha256"]] + BLUR for call in calls)


def duplicate_rows(connection: Connection) -> int:
    """Count the surplus rows of model calls that an episode stores more than once."""
    rows = connection.execute(text("SELECT episode, attempt, position, branch FROM completion"))
    return sum(number - 1 for number in Counter(map(tuple, rows)).values())


def recovery(connection: Connection, faults: list[float]) -> float | None:
    """Return the longest time in seconds from a fault's end to the next stored completion."""
    times = sorted(connection.execute(text("SELECT at FROM fault_recorded")).scalars())
    waits = [times[index] - end for end in faults if (index := bisect.bisect(times, end)) < len(times)]
    return max(waits, default=None)
