"""Count the first episodes that meet a filter by ending, score, number of subgoals and class of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, Text, case, cast, func, literal, select

from db.engine.connection import numbers
from db.kinds.failure_classes import classify
from db.models import EpisodeRow, SubgoalRow
from db.queries.filter_sql import conditions, newest_score
from db.queries.filters import Filter
from db.queries.trajectories import select_ids
from lumos_queue.records import Ending

MAX_COUNTED = 20_000  #: episodes
FEW_SCORES = 12  #: different scores that are listed


@dataclass(frozen=True, slots=True)
class Facets:
    """The number of counted episodes for each value."""

    counted: int = 0
    has_more: bool = False  #: whether the filter has further episodes, which were not counted
    endings: Mapping[str, int] = field(default_factory=dict[str, int])
    #: of the main metric; empty where there are many
    scores: Mapping[float, int] = field(default_factory=dict[float, int])
    subgoals: Mapping[int, int] = field(default_factory=dict[int, int])
    failures: Mapping[str, int] = field(default_factory=dict[str, int])  #: classes of infrastructure failures


def count_facets(connection: Connection, query: Filter, limit: int = MAX_COUNTED) -> Facets:
    """Count the facets of the episodes that meet the filter: of the first `limit` of them, in the order of ids."""
    ids = list(connection.execute(select_ids(conditions(connection, query), 0, limit + 1)).scalars())
    has_more, ids = len(ids) > limit, ids[:limit]
    if not ids:
        return Facets()
    # The ids are sent as one text, because the filter would be evaluated again for each facet.
    condition = EpisodeRow.id.op("IN")(numbers(literal(str(ids))))
    is_failure = EpisodeRow.ending == Ending.INFRA_ERROR.value
    message = case((is_failure, EpisodeRow.message), else_=cast(literal(""), Text))
    score = newest_score(connection)
    columns = select(EpisodeRow.ending, message.label("message"), score.label("score")).where(condition).subquery().c
    groups = select(columns.ending, columns.message, columns.score, func.count()).group_by(
        columns.ending, columns.message, columns.score
    )
    endings, scores, failures = Counter[str](), Counter[float](), Counter[str]()
    for ending, text, value, count in connection.execute(groups):
        endings[ending] += count
        if value is not None:
            scores[value] += count
        if ending == Ending.INFRA_ERROR:
            failures[classify(text)] += count
    return Facets(
        counted=len(ids),
        has_more=has_more,
        endings=dict(endings.most_common()),
        scores=dict(sorted(scores.items())) if len(scores) <= FEW_SCORES else {},
        subgoals=_count_subgoals(connection, ids),
        failures=dict(failures.most_common()),
    )


def _count_subgoals(connection: Connection, ids: list[int]) -> dict[int, int]:
    """Return the number of episodes by their number of subgoals."""
    of_accepted = (SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
    within = EpisodeRow.id.op("IN")(numbers(literal(str(ids))))
    columns = select(func.count().label("count")).where(*of_accepted, within).group_by(SubgoalRow.episode).subquery().c
    rows = connection.execute(select(columns.count, func.count()).group_by(columns.count).order_by(columns.count))
    counts = {int(count): int(episodes) for count, episodes in rows}
    none = len(ids) - sum(counts.values())
    return ({0: none} if none else {}) | counts
