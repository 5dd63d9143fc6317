"""Read people's actions in the explorer."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.engine.whole_rows import read_rows
from db.models import WebAction


def list_actions(connection: Connection, limit: int, before: int = 0) -> list[WebAction]:
    """Return the newest actions, newest first. `before`: the id of an action; only earlier actions are returned."""
    query = select(WebAction.__table__).order_by(WebAction.id.desc()).limit(limit)
    return read_rows(connection, WebAction, query.where(WebAction.id < before) if before else query)
