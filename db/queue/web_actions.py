"""People's actions in the explorer: who, when, what, and on which job, episode, audit or build."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert

from db.engine.connection import now
from db.models import WebAction
from lumos_queue.util.sanitize import storable

MAX_DETAIL = 1_000  #: characters


@dataclass(frozen=True, slots=True)
class PersonAction:
    """A person's action in the explorer, for the function that makes its change."""

    person: str
    action: str
    target: str

    def record(self, connection: Connection, detail: str = "") -> None:
        """Record the action in the transaction that makes the change, so that both are stored or neither is."""
        note_action(connection, self.person, self.action, self.target, detail)


def note_action(connection: Connection, person: str, action: str, target: str, detail: str = "") -> None:
    """Record a person's action in the transaction that executes it."""
    row = {"person": person, "action": action, "target": target, "detail": detail[:MAX_DETAIL]}
    row = {name: storable(value)[0] for name, value in row.items()}
    connection.execute(insert(WebAction).values(at=now(), **row))
