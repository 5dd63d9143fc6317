"""Look up earlier runs of experts in the database, whatever job made them."""

from __future__ import annotations

import asyncio

from db.journal.tool_calls import find_call_in_any_job
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import DatabaseFailure, InfrastructureError
from lumos_queue.records import Execution


class RecordedRuns:
    """Looks up calls by their digest."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment

    async def find(self, command: str) -> Execution | None:
        """Return the execution of a successful call with the digest `command`; None if there is none.

        Raises InfrastructureError if the database cannot be read.
        """
        try:
            return await asyncio.to_thread(self._find, command)
        except DatabaseFailure as error:
            problem = f"the recorded runs of experts cannot be read: {error.driver_message}"
            raise InfrastructureError(problem) from None

    def _find(self, command: str) -> Execution | None:
        with self._deployment.database.engine.connect() as connection:
            return find_call_in_any_job(connection, command)
