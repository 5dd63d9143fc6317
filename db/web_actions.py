"""People's actions in the explorer: who, when, what, and on which job, episode, audit or build."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert, select

from db.connection import Database, now
from db.models import WebAction
from lumos_queue.util.sanitize import storable

MAX_DETAIL = 1_000  #: characters


def add_action(database: Database, person: str, action: str, target: str, detail: str = "") -> None:
    """Record a person's action."""
    with database.writer.begin() as connection:
        note_action(connection, person, action, target, detail)


def note_action(connection: Connection, person: str, action: str, target: str, detail: str = "") -> None:
    """Record a person's action in the transaction that executes it."""
    row = {"person": person, "action": action, "target": target, "detail": detail[:MAX_DETAIL]}
    row = {name: storable(value)[0] for name, value in row.items()}
    connection.execute(insert(WebAction).values(at=now(), **row))


def list_actions(connection: Connection, limit: int, before: int = 0) -> list[Any]:
    """Return the newest actions, the newest first; `before`: an action's id, only earlier ones are returned."""
    query = select(WebAction.__table__).order_by(WebAction.id.desc()).limit(limit)
    return list(connection.execute(query.where(WebAction.id < before) if before else query))
