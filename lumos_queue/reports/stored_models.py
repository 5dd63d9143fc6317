"""Describe models that training jobs wrote: their files, the models that they began from, and their fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queue.training_steps import StoredModel, list_models, summarize_fits
from lumos_queue.models.file_states import state_of_files
from lumos_queue.reports.json_values import MERGED
from lumos_queue.reports.training import FitFigures


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model of a list."""

    name: str
    kind: str  #: full or adapter
    digest: str  #: sha256 of its files
    bytes: int
    base: str  #: the digest of the model from which it began; '' for random weights
    builds: Sequence[str]  #: the training sets
    job: str | None  #: that wrote it; None if it was removed
    path: str
    created_at: float  #: seconds since 1970


@dataclass(frozen=True, slots=True)
class UnknownBase:
    """A model from which another began, and that is not stored here."""

    digest: str


@dataclass(frozen=True, slots=True)
class StoredBase:
    """A stored model from which another began."""

    digest: str
    name: str
    job: str | None
    builds: Sequence[str]


ModelBase = StoredBase | UnknownBase


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """A model with its sources and its fits."""

    model: ListedModel = field(metadata=MERGED)
    item: int | None  #: the number of the item that wrote it
    files: str  #: a state of models.file_states
    lineage: Sequence[ModelBase]  #: the nearest first
    start_of: Sequence[str]  #: the names of models that began from it
    fits: Sequence[FitFigures]  #: of its job


def list_stored_models(connection: Connection) -> list[ListedModel]:
    """Return all models, newest first."""
    return [_describe(row) for row in list_models(connection)]


def describe_model(connection: Connection, row: StoredModel) -> ModelDetails:
    """Return a model with its sources. Its files are read."""
    models = list_models(connection)
    return ModelDetails(
        model=_describe(row),
        item=row.ordinal,
        files=state_of_files(row),
        lineage=_list_bases(row.base, models),
        start_of=[candidate.name for candidate in models if candidate.base == row.digest],
        fits=[FitFigures(**fit) for fit in summarize_fits(connection, row.job)] if row.job else [],
    )


def _describe(row: StoredModel) -> ListedModel:
    return ListedModel(
        row.name, row.kind, row.digest, row.bytes, row.base, row.builds, row.job, row.path, row.created_at
    )


def _list_bases(base: str, models: Sequence[StoredModel]) -> list[ModelBase]:
    """Return the models from which a model was trained, the nearest first.

    Of the last one only the digest is known if it is not stored here. A model that began with random weights has none.
    """
    bases: list[ModelBase] = []
    models_by_digest = {model.digest: model for model in reversed(models)}  # of equal models the newest
    while base and base not in {ancestor.digest for ancestor in bases}:
        model = models_by_digest.get(base)
        bases.append(StoredBase(base, model.name, model.job, model.builds) if model else UnknownBase(base))
        base = model.base if model else ""
    return bases
