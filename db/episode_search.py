"""Looking for a text in what is stored of episodes, long results that are stored compressed included."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, and_, or_, select, tuple_, union_all
from sqlalchemy.orm import aliased

from db.conditions import Condition, contains, is_among, is_one_of
from db.models import CompletionRow, EpisodeRow, ExecutionRow, SubgoalRow, TaskRow, TextBlock

DENSE = 10  #: ids in a range for each that is meant


def of_accepted_attempt(table: Any) -> tuple[Condition, Condition]:
    """The table's steps of the episode's accepted attempt."""
    return table.episode == EpisodeRow.id, table.attempt == EpisodeRow.attempt


def says(connection: Connection, text: str, others: list[Condition], among: Sequence[int] | None = None) -> Condition:
    """Whether question, answer, a subgoal, an action's arguments or result, or a reply contains the text.

    With `among`, ids in ascending order, only these are searched, and some between them: what it costs is then bounded.
    """

    def within(key: Any) -> tuple[Condition, ...]:
        if not among:
            return ()
        # A range of a key costs PostgreSQL a twentieth of as many keys one by one.
        dense = among[-1] - among[0] < DENSE * len(among)
        return (key.between(among[0], among[-1]) if dense else is_among(key, among),)

    result: Condition = contains(connection, ExecutionRow.result, text)
    if long := _long_results(connection, text, [*others, *within(EpisodeRow.id)]):
        result = or_(result, is_one_of(ExecutionRow.result_block, long))
    places = [
        (SubgoalRow, contains(connection, SubgoalRow.text, text)),
        (CompletionRow, contains(connection, CompletionRow.reply, text)),
        (ExecutionRow, or_(contains(connection, ExecutionRow.arguments, text), result)),
    ]
    other = aliased(EpisodeRow)
    own = select(other.id, other.attempt)
    parts = [
        own.where(contains(connection, other.answer, text), *within(other.id)),
        own.join(TaskRow, TaskRow.id == other.task).where(
            contains(connection, TaskRow.question, text), *within(other.id)
        ),
        *(select(table.episode, table.attempt).where(fits, *within(table.episode)) for table, fits in places),
    ]
    # One list of all: combined by OR, PostgreSQL would search the list for each episode.
    return tuple_(EpisodeRow.id, EpisodeRow.attempt).in_(union_all(*parts))


def _long_results(connection: Connection, text: str, others: list[Condition]) -> list[str]:
    """Digests of compressed results that contain the text, of those that episodes which meet the others have."""
    used = select(ExecutionRow.result_block).where(ExecutionRow.result_block.is_not(None))
    if others:
        used = used.join(EpisodeRow, and_(*of_accepted_attempt(ExecutionRow))).where(*others)
    blocks = select(TextBlock.digest, TextBlock.data).where(TextBlock.digest.in_(used))
    needle, found = text.encode(), connection.execute(blocks.execution_options(yield_per=100))
    return [digest for digest, data in found if needle in zlib.decompress(data)]
