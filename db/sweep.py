"""Changing the state of a job's items in chunks: others report and write between two of them (db/chunks.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, and_, func, select
from sqlalchemy.sql.elements import ColumnElement

from db.chunks import Chunks
from db.models import Item
from db.sums import change_states


def change_items(
    chunks: Chunks, job: str, which: ColumnElement[bool], values: Mapping[str, Any], look: Callable[[Connection], bool]
) -> int:
    """Change those items of the job, from the last one downwards, but for those of a last chunk.

    Returns the ordinal below which they are, for the transaction of the caller that also changes the job's own state:
    what fits in one chunk is changed in that one alone. `look` comes first in each transaction: it locks the
    job, and raises or returns False when it must not be changed any more.
    """
    with chunks.database.engine.connect() as connection:
        first, last = connection.execute(
            select(func.min(Item.ordinal), func.max(Item.ordinal)).where(Item.job == job, which)
        ).one()
    if last is None:
        return 0
    below = last + 1
    while below - first > chunks.rows:
        start = below - chunks.rows
        with chunks.transaction() as connection:
            if not look(connection):
                return below
            mine = (Item.job == job, Item.ordinal >= start, Item.ordinal < below)
            change_states(connection, job, and_(*mine, which), values)
        below = start
    return below
