"""All cases: importing this enters them."""

from __future__ import annotations

from tests.faults import (  # noqa: F401
    brokers,
    commits,
    conditions,
    disks,
    items,
    kills,
    orders,
    refusals,
    restarts,
    servers,
    statuses,
    stops,
)
