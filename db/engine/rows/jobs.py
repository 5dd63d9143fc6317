"""Rows of datasets and of a job's items."""

from __future__ import annotations

from typing import NamedTuple

from db.engine.rows.declaration import writes_to
from db.kinds.states import ItemState
from db.models import Dataset, Item, TaskRow


@writes_to(Dataset, stamp="created_at")
class StoredDataset(NamedTuple):
    """A dataset. Its tasks are stored after it, unless it is `complete`."""

    digest: str
    benchmark: str
    split: str
    licence: str
    rows: int
    file_sha256: str = ""
    published: str = ""
    complete: bool = True


@writes_to(TaskRow)
class NewTask(NamedTuple):
    """A task of a dataset."""

    dataset: str
    ordinal: int
    row: str
    question: str
    inputs: str  #: JSON
    gold: str  #: JSON


@writes_to(Item)
class NewItem(NamedTuple):
    """An item; the initial values are those of a pending item."""

    job: str
    ordinal: int
    task: int | None
    sample: int
    state: str = ItemState.OWED.value  # plain text: a driver takes longer for a subclass
    claim: int = 0
    not_before_at: float = 0.0
    failures: int = 0
    deaths: int = 0
    batch: int = 0
    problem: str = ""


@writes_to(Item)
class ItemEnd(NamedTuple):
    """The end of an item that a session had claimed."""

    id: int
    state: str
    session: int | None
    problem: str
    output: str | None  #: JSON
