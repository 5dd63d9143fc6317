"""Jobs whose tasks have fields, as rows of a data file have further columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.engine.connection import Database
from lumos_queue.records import Task
from tests.scored_jobs import create_scored_job


def tasks_with(metas: Sequence[dict[str, Any] | None], dataset: str = "data") -> list[Task]:
    """A task for each of these fields; None: its gold value has none."""
    golds = [{"answer": "7"} | ({} if meta is None else {"meta": meta}) for meta in metas]
    return [Task("wordmath", dataset, str(number), f"question {number}", {}, gold) for number, gold in enumerate(golds)]


def job_by_topic(database: Database, topics: Sequence[Any], values: Sequence[float | None], **options: Any) -> str:
    """A job of a task for each topic, with its score."""
    tasks = tasks_with([{"topic": topic} for topic in topics])
    return create_scored_job(database, [[value] for value in values], tasks, **options)
