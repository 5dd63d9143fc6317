"""Run a scorer over a job's stored episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from db.engine.connection import Database
from db.engine.snapshot import reading
from db.kinds.job_kinds import JobKind
from db.queries.jobs import get_job
from db.queries.trajectories import load_episodes
from db.review.scorings import ScorerCode, begin_scoring, find_unscored, store_scores
from lumos_queue.errors import SpecError
from lumos_queue.review.scorers.base import Scorer
from lumos_queue.review.scorers.registry import SCORERS
from lumos_queue.settings import Settings
from lumos_queue.util.version import code_version

CHUNK = 200  #: number of episodes that are read, judged and stored at once


@dataclass(frozen=True, slots=True)
class ScoringOutcome:
    """The outcome of running a scorer on the episodes of a job."""

    job: str  #: the full id
    scorer: str
    version: str
    metrics: tuple[str, ...]
    episodes: int  #: number of episodes that got scores
    without: int  #: number of episodes to which the scorer does not apply


def score_job(
    database: Database, settings: Settings, job: str, name: str, tell: Callable[[int], None] = lambda _: None
) -> ScoringOutcome:
    """Run the scorer called `name` on the finished episodes of a job that lack its scores, and store these scores.

    `tell` is called after each chunk with the number of episodes that were judged. Raises SpecError for an unknown job
    or scorer, for a metric that the job has from another source, and for an episode on which the scorer fails. After an
    error the stored scores stay, and the next call continues.
    """
    scorer = SCORERS.load(name)
    plugin = SCORERS.plugin(name)
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    if row.kind == JobKind.TRAIN:
        raise SpecError(f"Job {row.id} is a training job: it has no episodes to score.")
    scorer = scorer.for_job(row) if scorer.for_job else scorer
    origin = str(plugin or code_version())
    code = ScorerCode(name, scorer.version, scorer.names, origin, settings.user, scorer.is_remade)
    begin_scoring(database, row.id, code)
    scored_count, episode_count = _score_all(database, row.id, scorer, code, tell)
    return ScoringOutcome(row.id, name, scorer.version, scorer.names, scored_count, episode_count - scored_count)


def _score_all(
    database: Database, job: str, scorer: Scorer, code: ScorerCode, tell: Callable[[int], None]
) -> tuple[int, int]:
    """Score all episodes that lack scores. Return how many got scores, and how many were judged."""
    scored_count = episode_count = after = 0
    while True:
        with reading(database) as connection:
            ids = find_unscored(connection, job, code, after, CHUNK)
            episodes = load_episodes(connection, ids)
        if not ids:
            return scored_count, episode_count
        scores, problem = {}, None
        for episode in episodes:
            try:
                scores[episode.id] = episode.attempt, scorer.score(episode)
            except SpecError as error:
                problem = error
                break
        scored_count += store_scores(database, job, scores, scorer.names[0])
        episode_count, after = episode_count + len(scores), ids[-1]
        if problem:
            raise SpecError(
                f"{problem}. {scored_count:,} episodes have their scores; fix it, and give the command again."
            )
        tell(episode_count)
