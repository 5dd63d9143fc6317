"""Runs of experts that the database has recorded, of whatever job."""

from __future__ import annotations

import asyncio
from threading import Lock

from sqlalchemy.exc import DBAPIError

from db.connection import Database, open_database
from db.tool_calls import recorded_anywhere
from lumos_queue.errors import InfrastructureError
from lumos_queue.records import Execution
from lumos_queue.settings import Settings


class RecordedRuns:
    """Looks calls up by their digest. The database is opened by the first."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._database: Database | None = None
        self._opening = Lock()  # look-ups run in threads

    async def find(self, command: str) -> Execution | None:
        """What an equal call gave that succeeded. Raises InfrastructureError when the database cannot be read."""
        try:
            return await asyncio.to_thread(self._find, command)
        except DBAPIError as error:
            raise InfrastructureError(f"the recorded runs of experts cannot be read: {error.orig}") from None

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def _find(self, command: str) -> Execution | None:
        with self._opening:
            if self._database is None:
                self._database = open_database(self._settings.database, self._settings.lease_seconds)
        with self._database.engine.connect() as connection:
            return recorded_anywhere(connection, command)
