"""What the first episodes of a filter have in common: how many ended so, got this score, had so many subgoals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import Connection, Text, case, cast, func, literal, select

from db.connection import numbers
from db.failure_classes import classify
from db.filter_sql import conditions, newest_score
from db.filters import Filter
from db.models import EpisodeRow, SubgoalRow
from db.trajectories import select_ids
from lumos_queue.records import Ending

MAX_COUNTED = 20_000  #: episodes
FEW_SCORES = 12  #: different scores that are told one by one


@dataclass(frozen=True, slots=True)
class Facets:
    """Values and how many of the counted episodes have each."""

    counted: int = 0
    more: bool = False  #: whether the filter has further episodes, which were not counted
    endings: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[float, int] = field(default_factory=dict)  #: of the main metric; empty where there are many
    subgoals: Mapping[int, int] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)  #: classes of infrastructure failures


def count_facets(connection: Connection, wanted: Filter, most: int = MAX_COUNTED) -> Facets:
    """Of the first episodes by id that meet the filter, at most so many."""
    ids = list(connection.execute(select_ids(conditions(connection, wanted), 0, most + 1)).scalars())
    more, ids = len(ids) > most, ids[:most]
    if not ids:
        return Facets()
    # Sent as one text and not as the filter again, which would be met anew for each facet.
    sent = EpisodeRow.id.op("IN")(numbers(literal(str(ids))))
    failed = EpisodeRow.ending == Ending.INFRA_ERROR.value
    message = case((failed, EpisodeRow.message), else_=cast(literal(""), Text))
    score = newest_score(connection)
    each = select(EpisodeRow.ending, message.label("message"), score.label("score")).where(sent).subquery().c
    grouped = select(each.ending, each.message, each.score, func.count()).group_by(
        each.ending, each.message, each.score
    )
    endings, scores, failures = Counter[str](), Counter[float](), Counter[str]()
    for ending, text, value, count in connection.execute(grouped):
        endings[ending] += count
        if value is not None:
            scores[value] += count
        if ending == Ending.INFRA_ERROR:
            failures[classify(text)] += count
    return Facets(
        counted=len(ids),
        more=more,
        endings=dict(endings.most_common()),
        scores=dict(sorted(scores.items())) if len(scores) <= FEW_SCORES else {},
        subgoals=_count_subgoals(connection, ids),
        failures=dict(failures.most_common()),
    )


def _count_subgoals(connection: Connection, ids: list[int]) -> dict[int, int]:
    """Number of subgoals to number of episodes."""
    of_accepted = (SubgoalRow.episode == EpisodeRow.id, SubgoalRow.attempt == EpisodeRow.attempt)
    within = EpisodeRow.id.op("IN")(numbers(literal(str(ids))))
    each = select(func.count().label("count")).where(*of_accepted, within).group_by(SubgoalRow.episode).subquery().c
    rows = connection.execute(select(each.count, func.count()).group_by(each.count).order_by(each.count))
    found = {int(count): int(episodes) for count, episodes in rows}
    none = len(ids) - sum(found.values())
    return ({0: none} if none else {}) | found
