"""Count a job's model calls whose reply is empty because the model wrote only reasoning."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, distinct, func, literal_column, or_, select

from db.models import CompletionRow, EpisodeRow
from lumos_queue.records import FinishReason


@dataclass(frozen=True, slots=True)
class EmptyReplies:
    """The empty replies of one role in a job."""

    role: str
    is_cut: bool  #: whether the limit of tokens ended them; else the model or a stop string did, within the reasoning
    replies: int
    episodes: int  #: that have such a reply


def count_empty_replies(connection: Connection, job: str) -> list[EmptyReplies]:
    """Count the replies of finished episodes that are only reasoning (Completion.is_only_reasoning), by role.

    The largest count comes first. The query reads the empty replies of all jobs through an index, and no other replies.
    """
    length = FinishReason.LENGTH.value
    replies = func.count()
    rows = connection.execute(
        select(CompletionRow.role, CompletionRow.finish_reason, replies, func.count(distinct(CompletionRow.episode)))
        .join(EpisodeRow, and_(EpisodeRow.id == CompletionRow.episode, EpisodeRow.attempt == CompletionRow.attempt))
        # A literal, not a parameter: SQLite uses a partial index only if the statement contains its condition.
        .where(CompletionRow.reply == literal_column("''"))
        .where(
            or_(
                CompletionRow.finish_reason == length,
                CompletionRow.reasoning.is_not(None),
                CompletionRow.reasoning_tokens.is_not(None),
            )
        )
        # The concatenation keeps SQLite from beginning with all episodes of the job.
        .where(EpisodeRow.job.concat("") == job, EpisodeRow.ending != "")
        .group_by(CompletionRow.role, CompletionRow.finish_reason)
        .order_by(replies.desc(), CompletionRow.role, CompletionRow.finish_reason)
    )
    return [EmptyReplies(role, reason == length, count, episodes) for role, reason, count, episodes in rows]
