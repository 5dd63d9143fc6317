"""Counts of rejected messages by reason, with details of the latest one."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy.dialects import postgresql, sqlite

from db.engine.connection import Database, now
from db.models import RefusedMessage


def add_rejected(database: Database, counts: Mapping[str, tuple[int, str]]) -> None:
    """Add to the stored counts. `counts`: by reason, the number of new messages and details of the latest message."""
    insert = (sqlite if database.is_sqlite else postgresql).insert(RefusedMessage)
    new = insert.excluded
    statement = insert.on_conflict_do_update(
        index_elements=["reason"],
        set_={
            "messages": RefusedMessage.messages + new.messages,
            "latest": new.latest,
            "latest_at": new.latest_at,
        },
    )
    with database.writer.begin() as connection:
        # Sorted, so that two processes that lock the same rows do not deadlock.
        for reason, (messages, latest) in sorted(counts.items()):
            connection.execute(statement.values(reason=reason, messages=messages, latest=latest, latest_at=now()))
