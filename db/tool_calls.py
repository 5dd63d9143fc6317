"""The recorded calls of external tools, which answer the same calls of another job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from db.journal import load_executions
from db.models import EpisodeRow, ToolCallRow
from lumos_queue.records import Execution


def recorded_call(
    connection: Connection, job: str, command: str, unmade: Sequence[str] = (), nth: int = 0
) -> Execution | None:
    """What the call with this digest (of tool and arguments) gave in the job's earliest episode that made it.

    `nth` of several such calls of that episode, counted from 0, or the last one where it made fewer; None when the job
    made none. Calls whose status is one of `unmade` do not count. Looked up through `tool_call_command_index`.
    """
    equal = [ToolCallRow.command == command, ToolCallRow.status.not_in(unmade)]
    first = connection.execute(
        select(ToolCallRow.episode, ToolCallRow.attempt)
        .join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
        .where(*equal, EpisodeRow.job == job)
        .order_by(ToolCallRow.episode, ToolCallRow.attempt)
        .limit(1)
    ).first()
    if first is None:
        return None
    rows = connection.execute(
        select(ToolCallRow.__table__)
        .where(*equal, ToolCallRow.episode == first.episode, ToolCallRow.attempt == first.attempt)
        .order_by(ToolCallRow.position, ToolCallRow.branch)
        .limit(nth + 1)
    ).all()
    return load_executions(connection, rows[-1:])[0]
