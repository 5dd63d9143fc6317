"""The recorded calls of external tools, which answer the same calls of another job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from db.journal import load_executions
from db.models import EpisodeRow, ToolCallRow
from lumos_queue.records import Execution


def recorded_call(connection: Connection, job: str, command: str, unmade: Sequence[str] = ()) -> Execution | None:
    """What the job's earliest call with this digest (of tool and arguments) gave; None when it made none.

    Calls whose status is one of `unmade` do not count. Looked up through `tool_call_command_index`.
    """
    row = connection.execute(
        select(ToolCallRow.__table__)
        .join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
        .where(ToolCallRow.command == command, EpisodeRow.job == job, ToolCallRow.status.not_in(unmade))
        .order_by(ToolCallRow.episode, ToolCallRow.attempt, ToolCallRow.position, ToolCallRow.branch)
        .limit(1)
    ).first()
    return None if row is None else load_executions(connection, [row])[0]
