"""Scores that are added to stored episodes after a run. The scores of the run stay unchanged."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Select, bindparam, exists, select, update

from db.engine.bulk import Writes, insert_into
from db.engine.conditions import Condition
from db.engine.connection import Database, now, numbers
from db.engine.rows.episodes import NewScore
from db.engine.rows.sums import AddedScores
from db.engine.whole_rows import read_rows
from db.kinds.states import HIDDEN
from db.models import EpisodeRow, JobRow, ScoreRow, ScoreSum, Scoring
from db.queue.job_changes import lock_job
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending, Score

_BY_PEOPLE = 0  #: the session of sums that no worker keeps
_ScoreKey = tuple[str, str, float, int]  #: metric, version, value, trials
_IDS = numbers(bindparam("ids"))


@dataclass(frozen=True, slots=True)
class ScorerCode:
    """The code of a scorer, in one version."""

    scorer: str  #: its name in the registry
    version: str  #: from its author; of several versions of a metric the newest counts
    metrics: tuple[str, ...]
    code: str  #: the code's distribution, version and digest
    scored_by: str
    is_remade: bool = False  #: whether the run may have given its metrics, in an earlier version


def begin_scoring(database: Database, job: str, scorer: ScorerCode) -> None:
    """Record that a scorer runs on a job.

    Raises SpecError if the run or another scorer has scores by one of its metrics, if the same version had other code,
    or if a stored version would count before this version.
    """
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        if row is None or row.state in HIDDEN:
            raise SpecError(f"Job {job} was removed.")
        _check(connection, job, scorer)
        for metric in scorer.metrics:
            key = {"job": job, "metric": metric, "version": scorer.version}
            values = {"scorer": scorer.scorer, "code": scorer.code, "scored_by": scorer.scored_by, "scored_at": now()}
            statement = insert_into(connection, Scoring).values(key | values)
            connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


def _check(connection: Connection, job: str, scorer: ScorerCode) -> None:
    scorings = scorings_of(connection, job)
    for metric in scorer.metrics:
        metric_scorings = [scoring for scoring in scorings if scoring.metric == metric]
        if not metric_scorings and not scorer.is_remade and connection.execute(_has_scores(job, metric)).scalar():
            raise SpecError(f"Job {job} has scores of '{metric}' from its run: give the scorer's metric another name.")
        if conflict := next((scoring for scoring in metric_scorings if scoring.scorer != scorer.scorer), None):
            raise SpecError(
                f"Job {job} has scores of '{metric}' from the scorer '{conflict.scorer}': give the metric another name."
            )
        if conflict := next(
            (
                scoring
                for scoring in metric_scorings
                if scoring.version == scorer.version and scoring.code != scorer.code
            ),
            None,
        ):
            raise SpecError(
                f"Job {job} has scores of '{metric}', version {scorer.version}, from other code ({conflict.code}; here "
                f"{scorer.code}). Give the scorer a new version: reports use the newest version."
            )
        newest = max((scoring.version for scoring in metric_scorings), key=str.encode, default="")
        if scorer.version.encode() < newest.encode() and scorer.version not in {
            scoring.version for scoring in metric_scorings
        }:
            raise SpecError(
                f"Job {job} has scores of '{metric}', version {newest}, which would count before {scorer.version}: "
                f"versions are compared as texts. Give the scorer a later version, such as '{newest}.1'."
            )


def _has_scores(job: str, metric: str) -> Select[bool]:
    return select(exists().where(ScoreSum.job == job, ScoreSum.metric == metric, ScoreSum.episodes > 0))


def find_unscored(connection: Connection, job: str, scorer: ScorerCode, after: int, limit: int) -> list[int]:
    """Return the first `limit` ids, larger than `after`, of finished episodes without scores by this scorer's version.

    Episodes that ended with infra_error are left out.
    """
    has_score = exists().where(
        ScoreRow.episode == EpisodeRow.id,
        ScoreRow.metric.in_(scorer.metrics),
        ScoreRow.version == scorer.version,
    )
    query = select(EpisodeRow.id).where(EpisodeRow.job == job, EpisodeRow.id > after, _is_judged(), ~has_score)
    return list(connection.execute(query.order_by(EpisodeRow.id).limit(limit)).scalars())


def store_scores(
    database: Database, job: str, scores: Mapping[int, tuple[int, Sequence[Score]]], main_metric: str
) -> int:
    """Add `scores`: by episode, the judged attempt and its scores. Return how many episodes got scores.

    An episode stays unchanged if its ending was taken back meanwhile, or if it has these scores already. A job without
    a main metric gets `main_metric` with its first scores.
    """
    with database.writer.begin() as connection:
        if lock_job(connection, job) is None:
            raise SpecError(f"Job {job} was removed.")
        parameters = {"ids": json.dumps(list(scores))}
        attempt_query = select(EpisodeRow.id, EpisodeRow.attempt).where(EpisodeRow.id.op("IN")(_IDS), _is_judged())
        attempts = {row.id: row.attempt for row in connection.execute(attempt_query.with_for_update(), parameters)}
        columns = (ScoreRow.episode, ScoreRow.metric, ScoreRow.version, ScoreRow.value, ScoreRow.trials)
        stored_rows = list(connection.execute(select(*columns).where(ScoreRow.episode.op("IN")(_IDS)), parameters))
        stored_keys = {tuple(row[:3]) for row in stored_rows}
        new = [
            (episode, score)
            for episode, (attempt, episode_scores) in scores.items()
            for score in episode_scores
            if attempts.get(episode) == attempt and (episode, score.metric, score.version) not in stored_keys
        ]
        rows = [
            NewScore(episode, score.metric, score.version, float(score.value), score.of, score.detail)
            for episode, score in new
        ]
        counts = _count_changes(stored_rows, new)
        with Writes(connection) as writes:
            writes.insert(NewScore, rows)
            writes.add(AddedScores, [AddedScores(job, _BY_PEOPLE, *key, count) for key, count in counts.items()])
        if new:
            conditions = (JobRow.id == job, JobRow.main_metric == "")
            connection.execute(update(JobRow).where(*conditions).values(main_metric=main_metric))
        return len({episode for episode, _ in new})


def _count_changes(
    stored_rows: Sequence[Row[int, str, str, float, int]], new: Sequence[tuple[int, Score]]
) -> Counter[_ScoreKey]:
    """Return the changes of the sums. These have only scores of the newest version: a former score is subtracted."""
    newest: dict[tuple[int, str], Row[int, str, str, float, int]] = {}
    for row in sorted(stored_rows, key=lambda row: row.version.encode()):
        newest[row.episode, row.metric] = row
    counts: Counter[_ScoreKey] = Counter()
    for episode, score in new:
        former = newest.get((episode, score.metric))
        if former is None or former.version.encode() < score.version.encode():
            counts[score.metric, score.version, float(score.value), score.of] += 1
            if former is not None:
                counts[former.metric, former.version, float(former.value), former.trials] -= 1
    return counts


def scorings_of(connection: Connection, job: str) -> list[Scoring]:
    """Return the scorers that were run on a job, by metric and version, as rows with the columns of Scoring."""
    query = select(Scoring.__table__).where(Scoring.job == job).order_by(Scoring.metric, Scoring.version)
    return read_rows(connection, Scoring, query)


def _is_judged() -> Condition:
    return EpisodeRow.ending.not_in(("", Ending.INFRA_ERROR.value))
