"""The cost of a job's model calls, and the pause of a job that exceeds its budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select, update

from db.engine.connection import Database
from db.engine.json_columns import is_object
from db.kinds.job_kinds import JobKind
from db.kinds.states import JobState
from db.models import CompletionRow, EpisodeRow, Item, JobRow
from db.queue.job_changes import finish_if_idle
from db.queue.job_stops import JobStop, stop_job
from lumos_queue.errors import SpecError


def cost_of_job(connection: Connection, job: str, prompt_price: float, completion_price: float) -> float:
    """Return the cost in USD of all stored model calls of the job, at prices in USD for a million tokens."""
    prompt_tokens, completion_tokens = tokens(connection, job)
    return (prompt_tokens * prompt_price + completion_tokens * completion_price) / 1e6


def tokens(connection: Connection, job: str) -> tuple[int, int]:
    """Return (tokens of prompts, tokens of replies) of all stored model calls of the job, of unfinished items, too."""
    row = connection.execute(
        select(
            func.coalesce(func.sum(CompletionRow.prompt_tokens), 0),
            func.coalesce(func.sum(CompletionRow.completion_tokens), 0),
        )
        .join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
        .where(EpisodeRow.job == job)
    ).one()
    return int(row[0]), int(row[1])


def job_of(connection: Connection, item: int) -> str:
    """Return the id of the job that an item belongs to."""
    return connection.execute(select(Item.job).where(Item.id == item)).scalar_one()


def pause_for(database: Database, job: str, reason: str) -> None:
    """Pause an open job and store the reason. Items in flight are given back."""
    with database.writer.begin() as connection:
        stop_job(connection, job, JobStop(JobState.PAUSED, reason))
    finish_if_idle(database, job)


def set_budget(database: Database, job: str, usd: float) -> None:
    """Change the budget of a job, in USD. The next slice of the job is the first that uses it.

    Raises SpecError for a job whose request has no prices.
    """
    with database.writer.begin() as connection:
        row = connection.execute(select(JobRow.kind, JobRow.spec).where(JobRow.id == job).with_for_update()).one()
        if row.kind == JobKind.CONVERT and not row.spec.get("teacher"):
            raise SpecError(f"Job {job} asks no teacher model, so it has no budget.")
        prices = find_prices(row.spec)
        if row.kind != JobKind.CONVERT and not (prices.get("prompt_price") or prices.get("completion_price")):
            raise SpecError(f"Job {job} has no prices, so it has no budget: submit it with --price-prompt USD.")
        settings = {**prices, "budget": usd}
        spec = {**row.spec, "infer": settings} if prices is not row.spec else settings
        connection.execute(update(JobRow).where(JobRow.id == job).values(spec=spec))


def find_prices(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a job's spec that holds its budget and its prices. In an evaluation this is `infer`."""
    inference = spec.get("infer")
    return inference if is_object(inference) else spec
