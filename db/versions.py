"""Which code and which prompts a job's finished episodes were made with: all of them, each with its episodes."""

from __future__ import annotations

from sqlalchemy import Connection, and_, distinct, func, select

from db.models import Attempt, CompletionRow, EpisodeRow
from lumos_queue.records import FinishReason


def code_versions(connection: Connection, job: str) -> list[tuple[str, int]]:
    """(code version, finished episodes whose accepted attempt was begun by it), the commonest first."""
    counted = func.count()
    rows = connection.execute(
        select(Attempt.code_version, counted)
        .join(EpisodeRow, and_(EpisodeRow.id == Attempt.episode, EpisodeRow.attempt == Attempt.number))
        .where(EpisodeRow.job == job, EpisodeRow.ending != "")
        .group_by(Attempt.code_version)
        .order_by(counted.desc(), Attempt.code_version)
    )
    return [(version, episodes) for version, episodes in rows]


def prompt_heads(connection: Connection, job: str) -> dict[str, list[tuple[str, int]]]:
    """By role (digest of the text that prompts begin with, finished episodes that were asked so), commonest first.

    The text does not depend on the task: another digest is another version of the prompts.
    """
    counted = func.count(distinct(CompletionRow.episode))
    rows = connection.execute(
        select(CompletionRow.role, CompletionRow.prefix, counted)
        .join(EpisodeRow, and_(EpisodeRow.id == CompletionRow.episode, EpisodeRow.attempt == CompletionRow.attempt))
        .where(EpisodeRow.job == job, EpisodeRow.ending != "")
        .where(CompletionRow.prefix.is_not(None), CompletionRow.finish_reason != FinishReason.GIVEN.value)
        .group_by(CompletionRow.role, CompletionRow.prefix)
        .order_by(CompletionRow.role, counted.desc(), CompletionRow.prefix)
    )
    found: dict[str, list[tuple[str, int]]] = {}
    for role, digest, episodes in rows:
        found.setdefault(role, []).append((str(digest), episodes))
    return found
