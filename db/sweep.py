"""Change the state of a job's items in chunks: other processes report and write between two of them (db/chunks.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, and_, func, select
from sqlalchemy.sql.elements import ColumnElement

from db.chunks import Chunks
from db.models import Item
from db.sums import change_states


def change_items(
    chunks: Chunks,
    job: str,
    condition: ColumnElement[bool],
    values: Mapping[str, Any],
    look: Callable[[Connection], bool],
) -> int:
    """Change the job's items that meet the condition, from the last one downwards, except for the last chunk.

    Returns the ordinal below which the remaining items are. The caller changes them in the transaction that also
    changes the job's own state, so that one transaction suffices for few items. `look` comes first in each transaction:
    it locks the job, and raises or returns False when the items must not change.
    """
    with chunks.database.engine.connect() as connection:
        first, last = connection.execute(
            select(func.min(Item.ordinal), func.max(Item.ordinal)).where(Item.job == job, condition)
        ).one()
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
