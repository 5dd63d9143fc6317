"""Counting what a case cost: from the database, its witnesses and the endpoint's log."""

from __future__ import annotations

import bisect
import time
from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from tests.faults.invariants import broken
from tests.faults.result import Result
from tests.faults.witness import recorded_at, stale_rows

if TYPE_CHECKING:
    from tests.faults.deployment import Deployment

#: Seconds by which the time of a stored row may be off: SQLite's clock counts milliseconds.
BLUR = 0.01


def reckon(deployment: Deployment, bound: int | None, repeats: int) -> Result:
    calls = deployment.endpoint.calls
    with deployment.database.engine.connect() as connection:

        def count(query: str, **values: object) -> int:
            return connection.execute(text(query), values).scalar_one()

        items, quarantined = (
            count("SELECT count(*) FROM item"),
            count("SELECT count(*) FROM item WHERE state = 'quarantined'"),
        )
        finished = count("SELECT count(*) FROM item WHERE state = 'done'")
        right = count("SELECT count(*) FROM score WHERE metric = 'accuracy' AND value = 1")
        reached = items - count(
            "SELECT count(*) FROM item WHERE state NOT IN ('done', 'quarantined', :state)", state=deployment.expected
        )
        result = Result(
            database=connection.dialect.name,
            broker=deployment.broker_url.partition(":")[0],
            items=items,
            lost=items - reached,
            duplicated=max(0, repeated(connection, calls) - repeats) + duplicate_rows(connection),
            stale=stale_rows(connection),
            broken=broken(connection, lease_seconds=deployment.settings.lease_seconds),
            needed=count("SELECT count(*) FROM completion"),
            at_endpoint=len(calls),
            bound=bound,
            recovery=recovery(connection, deployment.faults),
            seconds=round(time.monotonic() - deployment.began, 1),
        )
    result.judge()
    if right != finished - deployment.failing:
        result.problems.append(f"{right} of {finished} done items are right, {deployment.failing} should have failed")
    if quarantined != deployment.quarantined:
        result.problems.append(f"{quarantined} items are in quarantine, not {deployment.quarantined}")
    return result


def repeated(connection: Connection, calls: list[dict]) -> int:
    """Calls whose reply was stored when they arrived, for every task that asks with that prompt."""
    stored = recorded_at(connection)
    return sum(call["sha256"] in stored and call["time"] > stored[call["sha256"]] + BLUR for call in calls)


def duplicate_rows(connection: Connection) -> int:
    """Model calls that an episode stores more than once, whatever the attempt and the place."""
    rows = connection.execute(text("SELECT episode, attempt, position, branch FROM completion"))
    return sum(number - 1 for number in Counter(map(tuple, rows)).values())


def recovery(connection: Connection, faults: list[float]) -> float | None:
    """The longest time from a fault's end to the next completion that was stored."""
    stored = sorted(connection.execute(text("SELECT at FROM fault_recorded")).scalars())
    waits = [stored[at] - ended for ended in faults if (at := bisect.bisect(stored, ended)) < len(stored)]
    return max(waits, default=None)
