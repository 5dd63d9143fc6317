"""Search stored episodes for a text, including long results, which are stored compressed."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, or_, select, tuple_, union_all
from sqlalchemy.orm import aliased

from db.engine.conditions import Condition, Value, contains, is_among, is_one_of
from db.models import CompletionRow, EpisodeRow, ExecutionRow, SubgoalRow, TaskRow, TextBlock

DENSE = 10  #: ids in a range for each id that is searched


def of_accepted_attempt(table: Any) -> tuple[Condition, Condition]:
    """Return the conditions that a row of this table of steps belongs to the accepted attempt of the episode."""
    return table.episode == EpisodeRow.id, table.attempt == EpisodeRow.attempt


def says(
    connection: Connection, text: str, conditions: list[Condition], among: Sequence[int] | None = None
) -> Condition:
    """Return the condition that an episode contains the text: in question, answer, subgoals, replies or actions.

    Of an action, arguments and result are searched. `among`: ids in ascending order; only these episodes, and possibly
    some with ids between them, are searched.
    """

    def within(key: Value) -> tuple[Condition, ...]:
        if not among:
            return ()
        # A range of keys costs PostgreSQL a twentieth of a list of as many keys.
        dense = among[-1] - among[0] < DENSE * len(among)
        return (key.between(among[0], among[-1]) if dense else is_among(key, among),)

    result: Condition = contains(connection, ExecutionRow.result, text)
    if long := _long_results(connection, text, [*conditions, *within(EpisodeRow.id)]):
        result = or_(result, is_one_of(ExecutionRow.result_block, long))
    sources = [
        (SubgoalRow, contains(connection, SubgoalRow.text, text)),
        (CompletionRow, contains(connection, CompletionRow.reply, text)),
        (ExecutionRow, or_(contains(connection, ExecutionRow.arguments, text), result)),
    ]
    episode = aliased(EpisodeRow)
    query = select(episode.id, episode.attempt)
    parts = [
        query.where(contains(connection, episode.answer, text), *within(episode.id)),
        query.join(TaskRow, TaskRow.id == episode.task).where(
            contains(connection, TaskRow.question, text), *within(episode.id)
        ),
        *(select(table.episode, table.attempt).where(fits, *within(table.episode)) for table, fits in sources),
    ]
    # One list of all sources: with OR, PostgreSQL would search the list for each episode.
    return tuple_(EpisodeRow.id, EpisodeRow.attempt).in_(union_all(*parts))


def _long_results(connection: Connection, text: str, conditions: list[Condition]) -> list[str]:
    """Return the digests of compressed results that contain the text, for episodes that meet the conditions."""
    query = select(ExecutionRow.result_block).where(ExecutionRow.result_block.is_not(None))
    if conditions:
        query = query.join(EpisodeRow, and_(*of_accepted_attempt(ExecutionRow))).where(*conditions)
    blocks = select(TextBlock.digest, TextBlock.data).where(TextBlock.digest.in_(query))
    needle, rows = text.encode(), connection.execute(blocks.execution_options(yield_per=100))
    return [digest for digest, data in rows if needle in zlib.decompress(data)]
