"""All cases: importing this enters them."""

from __future__ import annotations

from tests.faults import brokers, commits, conditions, disks, items, jobs, kills, orders, restarts, servers, stops  # noqa: F401
