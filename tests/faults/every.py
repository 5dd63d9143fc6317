"""All cases: importing this enters them."""

from __future__ import annotations

from tests.faults import brokers, commits, conditions, disks, items, kills, orders, refusals, restarts, servers, stops  # noqa: F401
