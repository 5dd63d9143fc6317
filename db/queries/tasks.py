"""Read the tasks of jobs."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.models import Item, JobRow, TaskRow
from lumos_queue.records import Task


def load_keyed_tasks(connection: Connection, job: str) -> dict[int, Task]:
    """Return the tasks of a job by key, in order, each once."""
    rows = connection.execute(
        select(TaskRow.__table__, JobRow.benchmark)
        .join(Item, Item.task == TaskRow.id)
        .join(JobRow, JobRow.id == Item.job)
        .where(Item.job == job, Item.sample == 0)
        .order_by(Item.ordinal)
    )
    return {row.id: Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold) for row in rows}


def load_task_rows(connection: Connection, job: str) -> list[str]:
    """Return the rows' own ids of a job's tasks, in order, each once."""
    query = select(TaskRow.row).join(Item, Item.task == TaskRow.id).where(Item.job == job, Item.sample == 0)
    return list(connection.execute(query.order_by(Item.ordinal)).scalars())


def first_task(connection: Connection, job: str) -> Task | None:
    """Return the task of a job's first item; None when the job's items have no tasks."""
    rows = connection.execute(
        select(TaskRow.__table__, JobRow.benchmark)
        .join(Item, Item.task == TaskRow.id)
        .join(JobRow, JobRow.id == Item.job)
        .where(Item.job == job, Item.ordinal == 0)
    )
    return next((Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold) for row in rows), None)
