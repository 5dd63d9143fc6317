"""Update sums over a job's ended items (db/models/sums.py), in the transaction that ends items or takes endings back.

A worker adds the figures that it counted while it ran an episode (`add_sums`). Code that changes ended items by SQL
calls `add_counted`: with the sign -1 before the change, and with the sign 1 after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    SQLColumnExpression,
    and_,
    distinct,
    func,
    literal,
    select,
    union_all,
    update,
)
from sqlalchemy.orm import aliased

from db.engine.bulk import Writes, insert_into
from db.engine.conditions import Query, Value
from db.engine.rows.sums import AddedCalls, AddedItems, AddedScores, AddedVersions
from db.kinds.states import ItemState
from db.kinds.totals import EpisodeTotals
from db.models import (
    Attempt,
    CallSum,
    CompletionRow,
    EpisodeRow,
    ExecutionRow,
    Item,
    ItemSum,
    ScoreRow,
    ScoreSum,
    SubgoalRow,
    VersionSum,
)
from db.models.totals import total_columns
from db.queue.batch import FinishedItem
from db.queue.current_scores import is_replaced
from lumos_queue.records import Ending, FinishReason

ENDED = (ItemState.DONE, ItemState.CANCELLED, ItemState.QUARANTINED)  #: item states that are summed
SumTable: TypeAlias = type[ItemSum] | type[CallSum] | type[ScoreSum] | type[VersionSum]
TABLES: tuple[SumTable, ...] = (ItemSum, CallSum, ScoreSum, VersionSum)
_COLUMNS = {table: tuple(column.name for column in table.__table__.columns) for table in TABLES}
_DONE = ItemState.DONE.value  # plain text: a driver takes longer for a subclass


def add_sums(writes: Writes, job: str, session: int, finished_items: Sequence[FinishedItem]) -> None:
    """Add items of one job that this transaction has finished, with the figures that their worker counted."""
    if not finished_items:
        return
    items: list[AddedItems] = []
    calls: list[AddedCalls] = []
    scores: list[AddedScores] = []
    versions: list[AddedVersions] = []
    for finished_item in finished_items:
        figures, outcome = finished_item.figures, finished_item.outcome
        assert figures is not None
        if outcome is None:
            items.append(AddedItems(job, session, _DONE, "", 0, 0, 1))
            continue
        ending, totals = str(outcome.ending), finished_item.totals
        items.append(
            AddedItems(
                job, session, _DONE, ending, figures.subgoals, figures.replies, 1, totals, figures.action_seconds
            )
        )
        calls += [
            AddedCalls(job, session, role, int(count), *seconds) for role, (count, *seconds) in figures.roles.items()
        ]
        versions += [
            AddedVersions(job, session, *version, 1) for version in (("", figures.code_version), *figures.prompts)
        ]
        if outcome.ending != Ending.INFRA_ERROR:
            scores += [
                AddedScores(job, session, score.metric, score.version, float(score.value), score.of, 1)
                for score in finished_item.scores
            ]
    writes.add(AddedItems, items)
    writes.add(AddedCalls, calls)
    writes.add(AddedScores, scores)
    writes.add(AddedVersions, versions)


def add_ended(connection: Connection, job: str, session: int, items: Mapping[str, int]) -> None:
    """Add numbers of items without a result. `items`: by state, cancelled or quarantined; negative numbers subtract."""
    rows = [AddedItems(job, session, str(state), "", 0, 0, count) for state, count in items.items() if count]
    with Writes(connection) as writes:
        writes.add(AddedItems, rows)


def change_states(
    connection: Connection, job: str, condition: ColumnElement[bool], values: Mapping[str, object], session: int = 0
) -> None:
    """Set columns of items that have no result, and update the sums of their old and new states.

    `values`: the new values, which include the state. The caller has locked the job.
    """
    counts = dict(
        connection.execute(
            select(Item.state, func.count())
            .where(condition, Item.state.in_((ItemState.CANCELLED, ItemState.QUARANTINED)))
            .group_by(Item.state)
        ).all()
    )
    changed_rows = connection.execute(update(Item).where(condition).values(**values)).rowcount
    changes = {state: -count for state, count in counts.items()}
    if (state := str(values["state"])) in ENDED:
        changes[state] = changes.get(state, 0) + changed_rows
    add_ended(connection, job, session, changes)


def add_counted(connection: Connection, session: int, condition: ColumnElement[bool], sign: int = 1) -> None:
    """Compute the sums over the ended items that meet the condition; add them, times `sign`, to the stored sums."""
    for table, query in count_ended(condition, connection.dialect.name).items():
        subquery = query.subquery()
        # The sums come last in each table, after its key.
        keys = [column.name for column in table.__table__.primary_key.columns]
        columns = [
            literal(session).label("session")
            if name == "session"
            else subquery.c[name]
            if name in keys
            else sign * subquery.c[name]
            for name in _COLUMNS[table]
        ]
        statement = insert_into(connection, table).from_select(_COLUMNS[table], select(*columns).where(literal(1) == 1))
        sums = [name for name in _COLUMNS[table] if name not in keys]
        changes = {name: table.__table__.c[name] + statement.excluded[name] for name in sums}
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes))


def count_ended(condition: ColumnElement[bool], dialect: str) -> dict[SumTable, Query]:
    """Return, for each table of sums, the query that computes its rows from the items, without the column `session`."""
    # Aliases, because `condition` may refer to items and episodes itself.
    item, episode = aliased(Item), aliased(EpisodeRow)
    is_selected = item.id.in_(select(Item.id).where(condition))
    score_keys = (ScoreRow.metric, ScoreRow.version, ScoreRow.value, ScoreRow.trials)
    seconds = [func.sum(getattr(CompletionRow, name)).label(name) for name in ("seconds", "waited", "lost", "queued")]
    calls = select(episode.job, CompletionRow.role, func.count().label("calls"), *seconds)
    scores = select(episode.job, *score_keys, func.count().label("episodes"))
    is_model_call = CompletionRow.finish_reason != FinishReason.GIVEN.value
    conditions = (item.id == episode.id, is_selected, episode.ending != "")

    def of_attempt(query: Query, table: type[Attempt] | type[CompletionRow], number: SQLColumnExpression[int]) -> Query:
        return query.where(*conditions, table.episode == episode.id, number == episode.attempt)

    codes = select(episode.job, literal("").label("role"), Attempt.code_version.label("value"))
    codes = of_attempt(codes.add_columns(func.count().label("episodes")), Attempt, Attempt.number)
    prompts = select(episode.job, CompletionRow.role, CompletionRow.prefix.label("value"))
    prompts = prompts.add_columns(func.count(distinct(CompletionRow.episode)).label("episodes"))
    prompts = of_attempt(prompts, CompletionRow, CompletionRow.attempt).where(
        CompletionRow.prefix.is_not(None), is_model_call
    )
    versions = union_all(
        codes.group_by(episode.job, Attempt.code_version),
        prompts.group_by(episode.job, CompletionRow.role, CompletionRow.prefix),
    )
    return {
        ItemSum: _count_items(item, episode, is_selected),
        CallSum: of_attempt(calls, CompletionRow, CompletionRow.attempt)
        .where(is_model_call)
        .group_by(episode.job, CompletionRow.role),
        ScoreSum: scores.where(*conditions, ScoreRow.episode == episode.id, episode.ending != Ending.INFRA_ERROR.value)
        .where(~is_replaced(dialect))
        .group_by(episode.job, *score_keys),
        VersionSum: select(versions.subquery()),
    }


def _count_items(item: type[Item], episode: type[EpisodeRow], is_selected: ColumnElement[bool]) -> Query:
    def of_episode(table: type[SubgoalRow] | type[CompletionRow] | type[ExecutionRow], expression: Value) -> Value:
        conditions = (table.episode == episode.id, table.attempt == episode.attempt)
        return select(expression).select_from(table).where(*conditions).scalar_subquery()

    seconds = func.coalesce(func.sum(ExecutionRow.seconds), 0.0)
    ended_items = (
        select(item.job, item.state, func.coalesce(episode.ending, "").label("ending"))
        .add_columns(
            of_episode(SubgoalRow, func.count()).label("subgoals"),
            of_episode(CompletionRow, func.count()).label("replies"),
            *(func.coalesce(column, 0).label(column.key) for column in total_columns(episode)),
            of_episode(ExecutionRow, seconds).label("action_seconds"),
        )
        .join_from(item, episode, and_(episode.id == item.id, item.state == ItemState.DONE), isouter=True)
        .where(is_selected, item.state.in_(ENDED))
        .subquery()
    )
    keys = (ended_items.c.job, ended_items.c.state, ended_items.c.ending, ended_items.c.subgoals, ended_items.c.replies)
    sums = [func.sum(ended_items.c[name]).label(name) for name in (*EpisodeTotals._fields, "action_seconds")]
    return select(*keys, func.count().label("items"), *sums).group_by(*keys)
