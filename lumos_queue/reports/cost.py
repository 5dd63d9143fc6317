"""Compute what the model calls of a job cost, if the job has prices."""

from __future__ import annotations

from typing import Any

from db.engine.connection import Connection
from db.queue.budget import cost_of_job, find_prices
from db.queue.stored_jobs import StoredJob


def cost_figures(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """Return `cost` of a report: USD of all stored model calls, the budget, and the prices in USD per million tokens.

    Return {} for a job without prices. Calls of unfinished items and of earlier attempts count, too.
    """
    spec = find_prices(job.spec)
    prices = spec.get("prompt_price", 0.0), spec.get("completion_price", 0.0)
    if not (any(prices) or spec.get("teacher")):
        return {}
    usd = cost_of_job(connection, job.id, *prices)
    return {"cost": {"usd": round(usd, 6), "budget": spec.get("budget", 0.0), "prices": list(prices)}}
