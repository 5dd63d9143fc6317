"""All cases: importing this module registers them."""

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
