"""One commit of a slice: one transaction behind the fence, which writes a batch and claims the next items."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from db.engine.bulk import Writes, as_json
from db.engine.connection import Database, now, numbers
from db.engine.rows.episodes import EpisodeResult, NewScore, NewVerdict
from db.engine.rows.jobs import ItemEnd
from db.engine.rows.steps import STEP_ROWS, NewAttempt, NewEpisodeArtifact
from db.journal.artifacts import insert_artifacts
from db.journal.text_blocks import insert_texts
from db.kinds.job_kinds import JobKind
from db.kinds.states import ItemState, JobState
from db.kinds.totals import SUMMED, EpisodeTotals
from db.models import Attempt, CompletionRow, Item
from db.queue.approval_waits import is_unanswered
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import NO_CLAIM, ClaimedItem, ClaimRequest, LeaseHolder, claim_items
from db.queue.fence import hold_fence
from db.queue.job_changes import lock_job
from db.queue.job_stops import JobStop, stop_job
from db.queue.sums import add_counted, add_sums
from db.queue.training_steps import insert_feedback, insert_models, insert_steps
from lumos_queue.records import Ending, FinishReason, Outcome

_DONE = ItemState.DONE.value  # plain text: a driver takes longer for a subclass
HELD = (ItemState.CLAIMED, ItemState.DONE)  #: an item is done already when the same commit is repeated
_HELD_ITEMS = select(Item.id, Item.claim, Item.state).where(Item.id.op("IN")(numbers(bindparam("items"))))


def commit(
    database: Database, holder: LeaseHolder, batch: Batch, request: ClaimRequest = NO_CLAIM
) -> list[ClaimedItem]:
    """Write the batch, and claim items of the holder's job as requested. Return the claimed items.

    If this process no longer holds an item, the item's rows and its request to stop the job are dropped. When an item
    stops the job, nothing is claimed. Raises Fenced when the holder was declared dead.
    """
    stops = {part.item: part.stop for part in (*batch.finished, *batch.given_back) if part.stop}
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        if stops:
            lock_job(connection, holder.job.id)  # before its items
        held_items = _find_held_items(connection, batch)
        with Writes(connection) as writes:
            _write_steps(connection, writes, batch, held_items)
            _finish(
                connection,
                writes,
                holder,
                [finished_item for finished_item in batch.finished if finished_item.item in held_items],
                held_items,
            )
        for back in batch.given_back:
            if back.item in held_items:
                _give_back(connection, back)
        for item in held_items.keys() & stops.keys():
            stop_job(connection, holder.job.id, stops[item])
        return (
            claim_items(connection, holder, request) if request.items and not held_items.keys() & stops.keys() else []
        )


def release_strays(database: Database, holder: LeaseHolder, known_items: set[int]) -> None:
    """Give back items that an interrupted commit has claimed, but whose claim this process has not learnt of."""
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        connection.execute(
            update(Item)
            .where(Item.session == holder.session, Item.job == holder.job.id)
            .where(Item.state == ItemState.CLAIMED, Item.id.not_in(known_items))
            .values(state=ItemState.OWED, session=None)
        )


def _find_held_items(connection: Connection, batch: Batch) -> dict[int, str]:
    """Return the state of each item of the batch that this process still holds."""
    items = {row[0] for rows in batch.rows.values() for row in rows}
    items.update(part.item for part in (*batch.finished, *batch.given_back))
    if not items:
        return {}
    rows = connection.execute(_HELD_ITEMS, {"items": json.dumps(sorted(items))})
    return {item: state for item, claim, state in rows if claim == batch.claims[item] and state in HELD}


def end_refused(database: Database, holder: LeaseHolder, item: int, claim: int, problem: str) -> None:
    """End an item as `infra_error`, because the database would refuse its rows each time. The stored rows stay.

    The newest stored attempt is accepted, and the item's counts are those of the stored calls. An item that is not an
    episode stays pending and its job fails, because only the job can then report the problem.
    """
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        if holder.job.kind == JobKind.TRAIN:
            lock_job(connection, holder.job.id)  # before its items
        held_items = _find_held_items(connection, Batch({item: claim}, given_back=[ReturnedItem(item)]))
        if item not in held_items:
            return
        attempt = connection.execute(select(func.max(Attempt.number)).where(Attempt.episode == item)).scalar()
        if attempt is None:
            _give_back(connection, ReturnedItem(item, problem))
            stop_job(connection, holder.job.id, JobStop(JobState.FAILED, problem))
            return
        query = select(
            func.count().filter(CompletionRow.finish_reason != FinishReason.GIVEN.value),
            *(func.coalesce(func.sum(getattr(CompletionRow, name)), 0) for name in SUMMED),
        ).where(CompletionRow.episode == item, CompletionRow.attempt == attempt)
        totals = EpisodeTotals(*map(int, connection.execute(query).one()))
        finished_item = FinishedItem(item, Outcome(None, Ending.INFRA_ERROR, problem), (), attempt, totals)
        with Writes(connection) as writes:
            _finish(connection, writes, holder, [finished_item], held_items)


def _write_steps(connection: Connection, writes: Writes, batch: Batch, held_items: Collection[int]) -> None:
    """Write the rows of steps of the held items. Raises TypeError for a row type that no statement here writes."""
    if unknown_types := batch.rows.keys() - {NewEpisodeArtifact, NewAttempt, *STEP_ROWS}:
        raise TypeError(f"a commit writes no {', '.join(sorted(kind.__name__ for kind in unknown_types))}")
    insert_texts(connection, batch.contents.texts)
    names = [row for row in batch.rows.get(NewEpisodeArtifact, ()) if row[0] in held_items]
    digests = {digest for _, digest in names}
    insert_artifacts(
        connection, {key: artifact for key, artifact in batch.contents.artifacts.items() if key in digests}
    )
    writes.insert(NewEpisodeArtifact, names)
    for row_type in (NewAttempt, *STEP_ROWS):
        writes.insert(row_type, [row for row in batch.rows.get(row_type, ()) if row[0] in held_items])


def _finish(
    connection: Connection,
    writes: Writes,
    holder: LeaseHolder,
    finished_items: list[FinishedItem],
    held_items: Mapping[int, str],
) -> None:
    """Write the results. `held_items`: each item's state before this transaction; sums include done items already."""
    if not finished_items:
        return
    job = holder.job.id
    episodes = [
        EpisodeResult(
            finished_item.item,
            str(finished_item.level),
            finished_item.attempt,
            str(finished_item.outcome.ending),
            finished_item.outcome.answer,
            finished_item.outcome.message,
            finished_item.totals,
            finished_item.seconds,
        )
        for finished_item in finished_items
        if finished_item.outcome
    ]
    # Only an empty ending may be replaced, so that there is one accepted result.
    writes.update(EpisodeResult, episodes, "s.ending = ''")
    scores = [
        NewScore(finished_item.item, score.metric, score.version, score.value, score.of, score.detail)
        for finished_item in finished_items
        for score in finished_item.scores
    ]
    writes.insert(NewScore, scores)
    verdicts = [
        NewVerdict(finished_item.item, verdict.module, verdict.name, verdict.rejects, verdict.detail)
        for finished_item in finished_items
        for verdict in finished_item.verdicts
    ]
    writes.insert(NewVerdict, verdicts)
    for finished_item in finished_items:
        insert_steps(connection, job, finished_item.item, finished_item.training_steps)
        insert_feedback(connection, job, finished_item.item, finished_item.feedback_steps)
        insert_models(connection, job, finished_item.item, finished_item.models)
    writes.send()  # all rows of an item are written while it is claimed
    outputs = [(part.item, None if part.output is None else as_json(part.output)) for part in finished_items]
    items = [ItemEnd(item, _DONE, None, "", output) for item, output in outputs]
    writes.update(ItemEnd, items, f"s.state = '{ItemState.CLAIMED}'")
    claimed_items = [
        finished_item for finished_item in finished_items if held_items[finished_item.item] == ItemState.CLAIMED
    ]
    add_sums(writes, job, holder.session, [finished_item for finished_item in claimed_items if finished_item.figures])
    if uncounted_items := [finished_item.item for finished_item in claimed_items if not finished_item.figures]:
        writes.send()  # before these rows are counted
        add_counted(connection, holder.session, Item.id.in_(uncounted_items))


def _give_back(connection: Connection, back: ReturnedItem) -> None:
    changes: dict[str, Any] = {"state": ItemState.OWED, "session": None}
    if back.awaits:
        # The lock comes first: a person's answer is stored before it, or waits for it.
        connection.execute(select(Item.id).where(Item.id == back.item).with_for_update())
        if is_unanswered(connection, back.item):
            changes["state"] = ItemState.AWAITING
    if back.problem:
        changes["problem"] = back.problem
    if back.failed:
        changes["failures"] = Item.failures + 1
    if back.problem or back.wait_seconds:
        changes["not_before_at"] = now() + back.wait_seconds
    connection.execute(update(Item).where(Item.id == back.item, Item.state == ItemState.CLAIMED).values(**changes))
