"""Store the optimizer steps and models of training jobs, in the transaction that accepts their item."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import Connection, func, select

from db.engine.bulk import as_json, insert_rows
from db.engine.rows.training import FEEDBACK_FIGURES, TRAINING_FIGURES, NewFeedbackStep, NewModel, NewTrainingStep
from db.models import FeedbackStepRow, Item, ModelRow, TrainingStepRow
from lumos_queue.records import FeedbackStep, TrainedModel, TrainingStep


def insert_steps(connection: Connection, job: str, item: int, steps: Sequence[TrainingStep]) -> None:
    """Store an item's optimizer steps. Raises RowsDiffer when another item has stored a step of the same number."""
    rows = [
        NewTrainingStep(
            job,
            step.fit,
            step.step,
            item,
            _finite(step.loss),
            _finite(step.rate),
            _finite(step.grad_norm),
            step.tokens,
            step.memory,
        )
        for step in steps
    ]
    insert_rows(connection, NewTrainingStep, rows)


def insert_feedback(connection: Connection, job: str, item: int, steps: Sequence[FeedbackStep]) -> None:
    """Store the rewards from which an item's optimizer steps learnt. Raises RowsDiffer as `insert_steps` does."""
    rows = [
        NewFeedbackStep(job, step.fit, step.step, item, *(getattr(step, name) for name in FEEDBACK_FIGURES))
        for step in steps
    ]
    insert_rows(connection, NewFeedbackStep, rows)


def list_feedback(connection: Connection, job: str) -> list[dict[str, Any]]:
    """Return the rewards from which each optimizer step of a job learnt, in the order of steps: fit, step, figures."""
    table = FeedbackStepRow
    columns = (table.fit, table.step, *(getattr(table, name) for name in FEEDBACK_FIGURES))
    query = select(*columns).where(table.job == job).order_by(table.item, table.fit, table.step)
    return [dict(row) for row in connection.execute(query).mappings()]


def insert_models(connection: Connection, job: str | None, item: int | None, models: Sequence[TrainedModel]) -> None:
    """Store the models that an item has written. For models that no job has made, job and item are None."""
    rows = [
        NewModel(
            model.name, job, item, model.path, model.kind, model.digest, model.bytes, model.base, as_json(model.builds)
        )
        for model in models
    ]
    insert_rows(connection, NewModel, rows)


def list_steps(connection: Connection, job: str) -> list[dict[str, Any]]:
    """Return the optimizer steps of a job, in their order: item (its number), fit, step and figures."""
    table = TrainingStepRow
    columns = (table.fit, table.step, *(getattr(table, name) for name in TRAINING_FIGURES))
    query = (
        select(Item.ordinal.label("item"), *columns)
        .join(Item, Item.id == table.item)
        .where(table.job == job)
        .order_by(Item.ordinal, table.fit, table.step)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def summarize_fits(connection: Connection, job: str) -> list[dict[str, Any]]:
    """Return the figures of each fit of a job: steps, tokens, first and last loss, peak memory in bytes."""
    table = TrainingStepRow
    query = (
        select(
            table.fit,
            func.count(),
            func.min(table.step),
            func.max(table.step),
            func.sum(table.tokens),
            func.max(table.memory),
            func.min(table.item),
        )
        .where(table.job == job)
        .group_by(table.fit)
        .order_by(func.min(table.item), table.fit)
    )
    return [
        {
            "fit": fit,
            "steps": steps,
            "tokens": int(tokens),
            "first_loss": _loss(connection, job, fit, first),
            "last_loss": _loss(connection, job, fit, last),
            "memory": memory,
        }
        for fit, steps, first, last, tokens, memory, _ in connection.execute(query)
    ]


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model or an adapter that a job has written. db/models/training.py explains the columns."""

    id: int
    name: str
    job: str | None
    path: str
    kind: str
    digest: str
    bytes: int
    base: str
    builds: list[str]
    created_at: float
    ordinal: int | None  #: the number of its item


def list_models(connection: Connection) -> list[StoredModel]:
    """Return all models, newest first."""
    columns = [getattr(ModelRow, field.name) for field in fields(StoredModel) if field.name != "ordinal"]
    query = select(*columns, Item.ordinal).outerjoin(Item, Item.id == ModelRow.item)
    rows = connection.execute(query.order_by(ModelRow.created_at.desc(), ModelRow.id.desc()))
    return [StoredModel(*row) for row in rows]


def find_models(connection: Connection, name_or_digest: str) -> list[StoredModel]:
    """Return the models with this name, JOB/NAME, or beginning of a digest (at least six characters)."""
    return [
        row
        for row in list_models(connection)
        if name_or_digest in (row.name, f"{row.job}/{row.name}")
        or (len(name_or_digest) >= 6 and row.digest.startswith(name_or_digest))
    ]


def remove_models(connection: Connection, keys: Sequence[int]) -> None:
    """Delete rows of models; their files stay."""
    connection.execute(ModelRow.__table__.delete().where(ModelRow.id.in_(keys)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _loss(connection: Connection, job: str, fit: str, step: int) -> float | None:
    table = TrainingStepRow
    return connection.execute(
        select(table.loss).where(table.job == job, table.fit == fit, table.step == step)
    ).scalar_one()
