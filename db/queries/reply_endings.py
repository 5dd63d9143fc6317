"""The endings of replies in a job's finished episodes, by role, counted from their rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, and_, case, func, select
from sqlalchemy.orm import aliased

from db.models import CompletionRow, EpisodeRow
from lumos_queue.records import Ending, FinishReason

#: Endings of episodes whose last reply could not be read, or named no answer.
UNANSWERED = (Ending.NO_ANSWER.value, Ending.UNREADABLE.value)


@dataclass(frozen=True, slots=True)
class ReplyEndings:
    """Counts of one role's replies. Replies that tasks contain are not counted."""

    replies: int
    cut: int  #: at the limit of tokens
    unanswered: int  #: last replies of episodes that ended without an answer


def count_reply_endings(connection: Connection, job: str) -> dict[str, ReplyEndings]:
    """Count how the replies of accepted attempts ended, by role."""
    is_accepted = and_(CompletionRow.episode == EpisodeRow.id, CompletionRow.attempt == EpisodeRow.attempt)
    conditions = (
        EpisodeRow.job == job,
        EpisodeRow.ending != "",
        CompletionRow.finish_reason != FinishReason.GIVEN.value,
    )
    later = aliased(CompletionRow)
    last = (
        select(func.max(later.position))
        .where(later.episode == CompletionRow.episode, later.attempt == CompletionRow.attempt)
        .scalar_subquery()
    )
    is_cut = case((CompletionRow.finish_reason == FinishReason.LENGTH.value, 1), else_=0)
    is_last = case((and_(EpisodeRow.ending.in_(UNANSWERED), CompletionRow.position == last), 1), else_=0)
    rows = connection.execute(
        select(CompletionRow.role, func.count(), func.sum(is_cut), func.sum(is_last))
        .join(EpisodeRow, is_accepted)
        .where(*conditions)
        .group_by(CompletionRow.role)
        .order_by(CompletionRow.role)
    )
    return {
        role: ReplyEndings(int(replies), int(cut), int(without_answer)) for role, replies, cut, without_answer in rows
    }
