"""The recorded calls of external tools, which answer the same calls of another job."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, select

from db.engine.whole_rows import read_rows
from db.journal.step_records import load_executions, pack_digest
from db.models import EpisodeRow, ToolCallRow
from lumos_queue.records import Execution


def find_recorded_call(
    connection: Connection, job: str, command: str, unmade: Sequence[str] = (), nth: int = 0
) -> Execution | None:
    """Return the result of a call with this digest (of tool and arguments) from the earliest episode that made it.

    An abandoned attempt counts only if no accepted attempt of the job made the call. If the attempt made the call more
    than once, `nth` selects a call, from 0, or the last call if there are fewer. Return None if the job made no such
    call. Calls whose status is in `unmade` do not count. The query uses `tool_call_command_index`.
    """
    equal = [ToolCallRow.command == pack_digest(command), ToolCallRow.status.not_in(unmade)]
    of_accepted = [EpisodeRow.ending != "", EpisodeRow.attempt == ToolCallRow.attempt]
    first = _first(connection, job, [*equal, *of_accepted]) or _first(connection, job, equal)
    if first is None:
        return None
    episode, attempt = first
    rows = read_rows(
        connection,
        ToolCallRow,
        select(ToolCallRow.__table__)
        .where(*equal, ToolCallRow.episode == episode, ToolCallRow.attempt == attempt)
        .order_by(ToolCallRow.position, ToolCallRow.branch)
        .limit(nth + 1),
    )
    return load_executions(connection, rows[-1:])[0]


def find_call_in_any_job(connection: Connection, command: str) -> Execution | None:
    """Return the result of the earliest successful call with this digest, of any job; None if there is none.

    The query uses `tool_call_command_index`.
    """
    rows = read_rows(
        connection,
        ToolCallRow,
        select(ToolCallRow.__table__)
        .where(ToolCallRow.command == pack_digest(command), ToolCallRow.status == "ok")
        .order_by(ToolCallRow.episode, ToolCallRow.attempt, ToolCallRow.position, ToolCallRow.branch)
        .limit(1),
    )
    return load_executions(connection, rows)[0] if rows else None


def list_accepted_calls(connection: Connection, job: str, tool: str) -> list[Execution]:
    """Return the results of a tool's calls in the accepted attempts of the job's finished episodes."""
    rows = read_rows(
        connection,
        ToolCallRow,
        select(ToolCallRow.__table__)
        .join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != "", EpisodeRow.attempt == ToolCallRow.attempt)
        .where(ToolCallRow.tool == tool),
    )
    return load_executions(connection, rows)


def _first(connection: Connection, job: str, where: Sequence[ColumnElement[bool]]) -> tuple[int, int] | None:
    """Return the job's earliest (episode, attempt) with a call that meets the conditions, or None."""
    row = connection.execute(
        select(ToolCallRow.episode, ToolCallRow.attempt)
        .join(EpisodeRow, EpisodeRow.id == ToolCallRow.episode)
        .where(*where, EpisodeRow.job == job)
        .order_by(ToolCallRow.episode, ToolCallRow.attempt)
        .limit(1)
    ).first()
    return None if row is None else (row.episode, row.attempt)
