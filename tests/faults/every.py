"""All cases: importing this enters them."""

from __future__ import annotations

from tests.faults import (  # noqa: F401
    black_holes,
    brokers,
    commits,
    conditions,
    disks,
    failovers,
    items,
    jobs,
    kills,
    orders,
    outages,
    refusals,
    restarts,
    servers,
    statuses,
    stops,
)
