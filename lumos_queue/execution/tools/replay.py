"""Answer calls from the records of an earlier job, without the network."""

from __future__ import annotations

import asyncio

from db.engine.connection import Database
from db.journal.tool_calls import find_recorded_call
from db.queries.jobs import get_job
from lumos_queue.commands import Call
from lumos_queue.errors import DatabaseFailure, InfrastructureError
from lumos_queue.execution.tools.caller import UNMADE, Caller, describe_call
from lumos_queue.records import Execution


def open_replay(job: str, database: Database) -> Caller:
    """Return a caller that answers from a job's records.

    It finds a call by its tool and arguments, in any episode of the job. If episodes have different answers, it takes
    the answers of the earliest episode, in their order (Call.nth). Raises SpecError for an unknown job.
    """
    with database.engine.connect() as connection:
        job = get_job(connection, job).id

    def look(command: Call) -> Execution | None:
        with database.engine.connect() as connection:
            return find_recorded_call(connection, job, command.digest, UNMADE, command.nth)

    async def recall(command: Call, _key: str) -> Execution:
        try:
            execution = await asyncio.to_thread(look, command)
        except DatabaseFailure as error:
            problem = f"the calls that job {job} has recorded cannot be read: {error.driver_message}"
            raise InfrastructureError(problem) from None
        if execution is not None:
            return execution
        call = describe_call(command)
        return Execution(
            "not_recorded",
            message=f"job {job} has recorded no call {call}: make it in a job with --live, and replay that",
        )

    return Caller(recall)
