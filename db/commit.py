"""One commit of a slice: what it did goes in, what it will do next comes out, behind the fence, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from db.approval_waits import is_unanswered
from db.artifacts import insert_artifacts
from db.batch import Batch, Finished, GivenBack
from db.bulk import Writes, as_json
from db.claims import NO_CLAIM, Claimed, ClaimRequest, LeaseHolder, claim_items
from db.connection import Database, now, numbers
from db.fence import hold_fence
from db.job_stops import JobStop, stop_job
from db.jobs import lock_job
from db.journal import COLUMNS, COMPARED
from db.models import Approval, Attempt, CompletionRow, EpisodeArtifact, EpisodeRow, Item, ScoreRow, VerdictRow
from db.states import ItemState, JobState
from db.sums import add_counted, add_sums
from db.text_blocks import insert_texts
from db.training_steps import insert_feedback, insert_models, insert_steps
from lumos_queue.records import Ending, FinishReason, Outcome

_DONE = ItemState.DONE.value  # plain text: a driver takes longer for a subclass
HELD = (ItemState.CLAIMED, ItemState.DONE)  #: an item that is done may get the same commit again
_HELD_ITEMS = select(Item.id, Item.claim, Item.state).where(Item.id.op("IN")(numbers(bindparam("items"))))
_SCORE_COLUMNS = ("episode", "metric", "version", "value", "detail", "trials")
_VERDICT_COLUMNS = ("episode", "module", "name", "rejects", "detail")
_EPISODE_COLUMNS = (
    "id",
    "attempt",
    "ending",
    "answer",
    "message",
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
    "level",
)


def commit(database: Database, holder: LeaseHolder, batch: Batch, request: ClaimRequest = NO_CLAIM) -> list[Claimed]:
    """Write the batch and claim what the holder requests of its job.

    Rows of an item that this process no longer holds are dropped, and so is what it says of the job. A job that is
    stopped here gives no more items. Raises Fenced when the holder may write nothing at all.
    """
    stops = {one.item: one.stop for one in (*batch.finished, *batch.given_back) if one.stop}
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        if stops:
            lock_job(connection, holder.job.id)  # before its items
        held = _held(connection, batch)
        with Writes(connection) as writes:
            _write_steps(connection, writes, batch, held)
            _finish(connection, writes, holder, [done for done in batch.finished if done.item in held], held)
        for back in batch.given_back:
            if back.item in held:
                _give_back(connection, back)
        for item in held.keys() & stops.keys():
            stop_job(connection, holder.job.id, stops[item])
        return claim_items(connection, holder, request) if request.items and not held.keys() & stops.keys() else []


def release_strays(database: Database, holder: LeaseHolder, known: set[int]) -> None:
    """Give back items that an interrupted commit claimed without this process knowing."""
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        connection.execute(
            update(Item)
            .where(Item.session == holder.session, Item.job == holder.job.id)
            .where(Item.state == ItemState.CLAIMED, Item.id.not_in(known))
            .values(state=ItemState.OWED, session=None)
        )


def _held(connection: Connection, batch: Batch) -> dict[int, str]:
    """The items the batch is about that are still this process's own, each with its state."""
    items = {row[0] for table in (Attempt, EpisodeArtifact, *COMPARED) for row in batch.rows.get(table, ())}
    items.update(one.item for one in (*batch.finished, *batch.given_back))
    if not items:
        return {}
    rows = connection.execute(_HELD_ITEMS, {"items": json.dumps(sorted(items))})
    return {item: state for item, claim, state in rows if claim == batch.claims[item] and state in HELD}


def end_refused(database: Database, holder: LeaseHolder, item: int, claim: int, problem: str) -> None:
    """End an item whose rows the database refuses, with what is stored of it: those rows would be refused again.

    Its newest attempt on record is the accepted one, and its counts are those of the calls on record. An item that is
    not an episode stays owed, and its job fails: nothing else could say what is wrong with it.
    """
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        if holder.job.kind == "train":
            lock_job(connection, holder.job.id)  # before its items
        held = _held(connection, Batch({item: claim}, given_back=[GivenBack(item)]))
        if item not in held:
            return
        attempt = connection.execute(select(func.max(Attempt.number)).where(Attempt.episode == item)).scalar()
        if attempt is None:
            _give_back(connection, GivenBack(item, problem))
            stop_job(connection, holder.job.id, JobStop(JobState.FAILED, problem))
            return
        stored = select(
            func.count().filter(CompletionRow.finish_reason != FinishReason.GIVEN.value),
            func.coalesce(func.sum(CompletionRow.prompt_tokens), 0),
            func.coalesce(func.sum(CompletionRow.completion_tokens), 0),
        ).where(CompletionRow.episode == item, CompletionRow.attempt == attempt)
        calls, asked, written = connection.execute(stored).one()
        outcome = Outcome(None, Ending.INFRA_ERROR, problem)
        done = Finished(item, outcome, (), attempt, calls, int(asked), int(written))
        with Writes(connection) as writes:
            _finish(connection, writes, holder, [done], held)


def _write_steps(connection: Connection, writes: Writes, batch: Batch, held: Collection[int]) -> None:
    insert_texts(connection, batch.contents.texts)
    names = [row for row in batch.rows.get(EpisodeArtifact, ()) if row[0] in held]
    named = {digest for _, digest in names}
    insert_artifacts(connection, {key: one for key, one in batch.contents.artifacts.items() if key in named})
    writes.insert(EpisodeArtifact.__table__, COLUMNS[EpisodeArtifact], names)
    attempts = [row for row in batch.rows.get(Attempt, ()) if row[0] in held]
    writes.insert(Attempt.__table__, COLUMNS[Attempt], attempts, stamp="started_at")
    for table, compared in COMPARED.items():
        kept = [row for row in batch.rows.get(table, ()) if row[0] in held]
        stamp = "asked_at" if table is Approval else ""
        writes.insert(table.__table__, COLUMNS[table], kept, compared, stamp)


def _finish(
    connection: Connection, writes: Writes, holder: LeaseHolder, finished: list[Finished], held: Mapping[int, str]
) -> None:
    """`held`: the state that each item had before this transaction; one that is done already is in the sums."""
    if not finished:
        return
    job = holder.job.id
    episodes = [
        (
            done.item,
            done.attempt,
            str(done.outcome.ending),
            done.outcome.answer,
            done.outcome.message,
            done.calls,
            done.prompt_tokens,
            done.completion_tokens,
            done.seconds,
            str(done.level),
        )
        for done in finished
        if done.outcome
    ]
    # An empty ending is the only one that may be replaced: one accepted result.
    writes.update(EpisodeRow.__table__, _EPISODE_COLUMNS, episodes, "s.ending = ''", stamp="finished_at")
    scores = [
        (done.item, score.metric, score.version, score.value, score.detail, score.of)
        for done in finished
        for score in done.scores
    ]
    writes.insert(ScoreRow.__table__, _SCORE_COLUMNS, scores)
    verdicts = [
        (done.item, verdict.module, verdict.name, verdict.rejects, verdict.detail)
        for done in finished
        for verdict in done.verdicts
    ]
    writes.insert(VerdictRow.__table__, _VERDICT_COLUMNS, verdicts)
    for done in finished:
        insert_steps(connection, job, done.item, done.training_steps)
        insert_feedback(connection, job, done.item, done.feedback_steps)
        insert_models(connection, job, done.item, done.models)
    writes.send()  # all of an item is written while it is claimed
    items = [(done.item, _DONE, None, "", None if done.output is None else as_json(done.output)) for done in finished]
    columns = ("id", "state", "session", "problem", "output")
    writes.update(Item.__table__, columns, items, f"s.state = '{ItemState.CLAIMED}'")
    ended = [done for done in finished if held[done.item] == ItemState.CLAIMED]
    add_sums(writes, job, holder.session, [done for done in ended if done.figures])
    if uncounted := [done.item for done in ended if not done.figures]:
        writes.send()  # it counts the rows
        add_counted(connection, holder.session, Item.id.in_(uncounted))


def _give_back(connection: Connection, back: GivenBack) -> None:
    changes: dict[str, Any] = {"state": ItemState.OWED, "session": None}
    if back.awaits:
        # Locked before looking: who answers at this moment has seen that the item is claimed, or waits for this lock.
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
