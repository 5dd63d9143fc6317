"""Change the state of a job's items in chunks (db/engine/chunks.py): other processes can write between two chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection, and_, func, select
from sqlalchemy.sql.elements import ColumnElement

from db.engine.chunks import Chunks
from db.engine.conditions import Query
from db.models import Item
from db.queue.sums import change_states


def change_items(
    chunks: Chunks,
    job: str,
    condition: ColumnElement[bool],
    values: Mapping[str, object],
    look: Callable[[Connection], bool],
) -> int:
    """Change the job's items that meet the condition, from the highest ordinal downwards, except for the lowest chunk.

    Return the ordinal below which the unchanged items are. The caller changes these in the transaction that also sets
    the job's own state, so that few items need only one transaction. Each transaction first calls `look`, which locks
    the job. `look` raises or returns False when the items must not change.
    """
    limits: Query = select(func.min(Item.ordinal), func.max(Item.ordinal)).where(Item.job == job, condition)
    with chunks.database.engine.connect() as connection:
        first, last = connection.execute(limits).one()
    if last is None:
        return 0
    below = last + 1
    while below - first > chunks.rows:
        start = below - chunks.rows
        with chunks.transaction() as connection:
            if not look(connection):
                return below
            of_chunk = (Item.job == job, Item.ordinal >= start, Item.ordinal < below)
            change_states(connection, job, and_(*of_chunk, condition), values)
        below = start
    return below
