"""Label the subgoals of episodes as right or wrong by the rollouts of a job, which continue the episodes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from db.engine.connection import Database
from db.queries.derived_episodes import DerivedTry, load_named_episodes, tries_of
from db.queries.jobs import get_job
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.builds.licences import FilteredRows, RowFilter
from lumos_queue.builds.lines import Write
from lumos_queue.reports.json_values import MERGED
from lumos_queue.rollouts.derivation import is_right
from lumos_queue.rollouts.stepwise import RolloutCounts, stepwise_row


@dataclass(frozen=True, slots=True)
class RolloutsReport:
    """The labels of the subgoals of continued episodes."""

    job: str
    episodes: int
    gone: int  #: episodes that were removed
    rows: int  #: rows that were written, of episodes whose labels are all known
    subgoals: int
    labels: Mapping[str, int]  #: subgoals by label, and by what decided it
    threshold: float  #: the share of rollouts that must be right
    filtered: FilteredRows = field(metadata=MERGED)
    rollouts: int
    ended: int  #: rollouts
    right: int  #: rollouts


def report_rollouts(
    database: Database, job: str, threshold: float, write: Write, allow_test: bool = False
) -> RolloutsReport:
    """Label the subgoals of each source episode. Call `write` with a row for each episode whose labels are all known.

    `threshold` is the share of rollouts (0 to 1) that must be right. Rows of test splits are refused and counted unless
    `allow_test`. Raises SpecError if the job's tasks are not derived from episodes.
    """
    with database.engine.connect() as connection:
        row = get_job(connection, job)
        tries = tries_of(connection, row)
    by_episode = _count_rollouts(open_benchmark_of(row), tries)
    labels: Counter[str] = Counter()
    episode_count, rows, row_filter = 0, 0, RowFilter(allow_test)
    for episode in load_named_episodes(database, by_episode):
        label_row = stepwise_row(episode, by_episode[episode.name], row.id, threshold)
        episode_count += 1
        for label, by in zip(label_row["labels"], label_row["by"], strict=True):
            labels["not judged" if label is None else f"{'right' if label else 'wrong'} by {by}"] += 1
        if None not in label_row["labels"] and row_filter.admit(episode.split, episode.licence, row.benchmark):
            rows += 1
            write(label_row)
    all_counts = [counts for prefix_counts in by_episode.values() for counts in prefix_counts.values()]
    return RolloutsReport(
        job=row.id,
        episodes=len(by_episode),
        gone=len(by_episode) - episode_count,
        rows=rows,
        subgoals=sum(labels.values()),
        labels=dict(sorted(labels.items())),
        threshold=threshold,
        filtered=row_filter.report(),
        rollouts=len(tries),
        ended=sum(counts.ended for counts in all_counts),
        right=sum(counts.right for counts in all_counts),
    )


def _count_rollouts(benchmark: Benchmark, tries: Iterable[DerivedTry]) -> dict[str, dict[int, RolloutCounts]]:
    """Count the rollouts by source episode, and by the number of subgoals with which they begin."""
    verdicts: dict[str, dict[int, list[bool | None]]] = defaultdict(lambda: defaultdict(list))
    for attempt in tries:
        verdict = is_right(benchmark, attempt) if attempt.ended else None
        verdicts[attempt.origin["episode"]][attempt.origin["subgoals"]].append(verdict)
    return {
        name: {
            number: RolloutCounts(len(outcomes), len(outcomes) - outcomes.count(None), outcomes.count(True))
            for number, outcomes in prefix_verdicts.items()
        }
        for name, prefix_verdicts in verdicts.items()
    }
