"""Running a scorer over a job's stored episodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from db.connection import Database
from db.jobs import get_job
from db.scorings import ScorerCode, begin_scoring, find_unscored, store_scores
from db.trajectories import load_episodes, reading
from lumos_queue.errors import SpecError
from lumos_queue.review.scorers.base import Scorer
from lumos_queue.review.scorers.registry import SCORERS
from lumos_queue.settings import Settings
from lumos_queue.util.version import code_version

CHUNK = 200  #: episodes that are read, judged and stored at once


@dataclass(frozen=True, slots=True)
class Scored:
    """What a run of a scorer did."""

    job: str  #: its whole id
    scorer: str
    version: str
    metrics: tuple[str, ...]
    episodes: int  #: that got scores
    without: int  #: to which the scorer does not apply


def score_job(
    database: Database, settings: Settings, job: str, name: str, tell: Callable[[int], None] = lambda _: None
) -> Scored:
    """Add the scores of the scorer of that name to the finished episodes of a job that do not have them yet.

    `tell` gets the number of episodes that were looked at, now and then. Raises SpecError for an unknown job or scorer,
    a metric that the job has from elsewhere, and an episode on which the scorer fails: what was scored before stays,
    and the next call goes on.
    """
    scorer = SCORERS.load(name)
    plugin = SCORERS.plugin(name)
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    if row.kind == "train":
        raise SpecError(f"Job {row.id} is a training job: it has no episodes to score.")
    scorer = scorer.for_job(row) if scorer.for_job else scorer
    origin = str(plugin or code_version())
    code = ScorerCode(name, scorer.version, scorer.names, origin, settings.user, scorer.is_remade)
    begin_scoring(database, row.id, code)
    scored, seen = _score_all(database, row.id, scorer, code, tell)
    return Scored(row.id, name, scorer.version, scorer.names, scored, seen - scored)


def _score_all(
    database: Database, job: str, scorer: Scorer, code: ScorerCode, tell: Callable[[int], None]
) -> tuple[int, int]:
    """How many episodes got scores, and how many were looked at."""
    scored = seen = after = 0
    while True:
        with reading(database) as connection:
            ids = find_unscored(connection, job, code, after, CHUNK)
            episodes = load_episodes(connection, ids)
        if not ids:
            return scored, seen
        found, problem = {}, None
        for episode in episodes:
            try:
                found[episode.id] = episode.attempt, scorer.score(episode)
            except SpecError as error:
                problem = error
                break
        scored += store_scores(database, job, found, scorer.names[0])
        seen, after = seen + len(found), ids[-1]
        if problem:
            raise SpecError(f"{problem}. {scored:,} episodes have their scores; fix it, and give the command again.")
        tell(seen)
