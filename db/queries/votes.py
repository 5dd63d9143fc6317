"""Read a judge's votes on the answers of a job's episodes, from the scores and the judge's recorded replies."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection, and_, exists, func, select

from db.models import CompletionRow, EpisodeRow, Label, ScoreRow
from db.queries.labels import VALUES
from lumos_queue.records import Completion, Ending, FinishReason

_ACCEPTED = and_(CompletionRow.episode == EpisodeRow.id, CompletionRow.attempt == EpisodeRow.attempt)


@dataclass(frozen=True, slots=True)
class RoleCalls:
    """Sums over all stored calls of one role in a job, including unfinished items and earlier attempts."""

    calls: int
    retries: int  #: tries that failed before a reply came
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """An episode that people labelled as a whole, with its score."""

    value: float
    detail: str
    labels: dict[str, str]  #: labeller to label, the newest of each


def count_details(connection: Connection, job: str, metric: str) -> list[tuple[str, int]]:
    """Count a job's episodes by the detail of their score by a metric: (detail, episodes)."""
    rows = connection.execute(
        select(ScoreRow.detail, func.count())
        .join(EpisodeRow, EpisodeRow.id == ScoreRow.episode)
        .where(EpisodeRow.job == job, ScoreRow.metric == metric)
        .group_by(ScoreRow.detail)
    )
    return [(detail, int(episodes)) for detail, episodes in rows]


def votes_without_score(connection: Connection, job: str, metric: str, role: str, limit: int) -> list[list[Completion]]:
    """Return a role's replies in each finished episode without a score by the metric, for at most `limit` episodes."""
    query = (
        select(EpisodeRow.id)
        .where(
            EpisodeRow.job == job,
            EpisodeRow.ending.not_in(("", Ending.INFRA_ERROR.value)),
            ~exists().where(ScoreRow.episode == EpisodeRow.id, ScoreRow.metric == metric),
        )
        .order_by(EpisodeRow.id)
        .limit(limit)
    )
    episodes = list(connection.execute(query).scalars())
    votes_of: dict[int, list[Completion]] = {episode: [] for episode in episodes}
    for start in range(0, len(episodes), 500):
        rows = connection.execute(
            select(
                CompletionRow.episode,
                CompletionRow.reply,
                CompletionRow.finish_reason,
                CompletionRow.reasoning,
                CompletionRow.reasoning_tokens,
            )
            .join(EpisodeRow, _ACCEPTED)
            .where(CompletionRow.episode.in_(episodes[start : start + 500]), CompletionRow.role == role)
            .order_by(CompletionRow.episode, CompletionRow.position, CompletionRow.branch)
        )
        for episode, reply, reason, reasoning, tokens in rows:
            vote = Completion(reply, FinishReason(reason), reasoning=reasoning or "", reasoning_tokens=tokens or 0)
            votes_of[episode].append(vote)
    return list(votes_of.values())


def sum_calls(connection: Connection, job: str, role: str) -> RoleCalls:
    """Return the sums over a role's calls in a job."""
    columns = (CompletionRow.retries, CompletionRow.prompt_tokens, CompletionRow.completion_tokens)
    row = connection.execute(
        select(func.count(), *(func.coalesce(func.sum(column), 0) for column in columns))
        .select_from(CompletionRow)
        .join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
        .where(EpisodeRow.job == job, CompletionRow.role == role)
    ).one()
    return RoleCalls(*map(int, row))


def list_labelled_scores(connection: Connection, job: str, metric: str) -> list[LabelledScore]:
    """Return the episodes of a job that have a score by the metric and a person's label of the whole episode."""
    labels: dict[int, dict[str, str]] = defaultdict(dict)
    rows = connection.execute(
        select(Label.episode, Label.labeller, Label.value)
        .join(EpisodeRow, EpisodeRow.id == Label.episode)
        .where(EpisodeRow.job == job, Label.position.is_(None), Label.value.in_(VALUES))
        .order_by(Label.id)
    )
    for episode, labeller, value in rows:
        labels[episode][labeller] = value
    if not labels:
        return []
    scores = connection.execute(
        select(ScoreRow.episode, ScoreRow.value, ScoreRow.detail)
        .join(EpisodeRow, EpisodeRow.id == ScoreRow.episode)
        .where(EpisodeRow.job == job, ScoreRow.metric == metric)
        .where(exists().where(Label.episode == ScoreRow.episode, Label.position.is_(None)))
        .order_by(ScoreRow.episode)
    )
    return [LabelledScore(value, detail, labels[episode]) for episode, value, detail in scores if episode in labels]
