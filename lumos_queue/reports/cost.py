"""Compute what the model calls of a job cost, if the job has prices."""

from __future__ import annotations

from dataclasses import dataclass

from db.engine.connection import Connection
from db.queue.budget import cost_of_job, find_prices
from db.queue.stored_jobs import StoredJob


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What the stored model calls of a job cost."""

    usd: float
    budget: float  #: USD; 0 without a budget
    prices: tuple[float, float]  #: USD per million tokens of prompts, and of replies


def cost_figures(connection: Connection, job: StoredJob) -> ModelCost | None:
    """Return the cost of all stored model calls of a job; None for a job without prices.

    Calls of unfinished items and of earlier attempts count, too.
    """
    spec = find_prices(job.spec)
    prices = spec.get("prompt_price", 0.0), spec.get("completion_price", 0.0)
    if not (any(prices) or spec.get("teacher")):
        return None
    usd = cost_of_job(connection, job.id, *prices)
    return ModelCost(round(usd, 6), spec.get("budget", 0.0), prices)
