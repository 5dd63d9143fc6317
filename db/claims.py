"""One commit of a slice: what it did goes in, what it will do next comes out, behind the fence, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, and_, bindparam, exists, func, insert, select, update
from sqlalchemy.orm import aliased

from db.connection import Database, now
from db.fence import hold_fence
from db.journal import COLUMNS, COMPARED, RecordedStep, load_steps
from db.models import Attempt, EpisodeRow, Item, ScoreRow, TaskRow, TextBlock
from db.rows import insert_rows
from lumos_queue.records import Outcome, Score, Task

_SCORE_COLUMNS = ("episode", "metric", "version", "value", "detail")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who claims and writes: a worker session at work on one job."""

    session: int
    code_version: str
    job: Any  #: the job's row


@dataclass(frozen=True, slots=True)
class Claimed:
    """An item this process now holds, until it finishes it, gives it back or dies."""

    id: int
    ordinal: int
    claim: int
    sample: int
    task: Task | None
    attempt: int
    steps: tuple[RecordedStep, ...]  #: what an earlier holder recorded


@dataclass(frozen=True, slots=True)
class Finished:
    """An item's result, about to become the accepted one."""

    item: int
    outcome: Outcome | None = None  #: of kinds whose items are episodes
    scores: Sequence[Score] = ()
    attempt: int = 1
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    output: Any = None  #: of kinds whose items are not


@dataclass(frozen=True, slots=True)
class GivenBack:
    """An item that is owed again: after an infrastructure failure, or because the slice stops.

    If its job is being cancelled, settling the job cancels the item.
    """

    item: int
    problem: str = ""  #: empty: nothing failed
    wait_seconds: float = 0.0


@dataclass(slots=True)
class Batch:
    """What one commit carries. Sent again unchanged when a commit was interrupted: every part is idempotent."""

    claims: dict[int, int]  #: claim number of each item the batch speaks of
    rows: dict[type, list[tuple]] = field(default_factory=dict)
    finished: list[Finished] = field(default_factory=list)
    given_back: list[GivenBack] = field(default_factory=list)


def commit(database: Database, holder: Holder, batch: Batch, wanted: int) -> list[Claimed]:
    """Write the batch and claim up to `wanted` further items of the holder's job.

    Rows of an item that this process no longer holds are dropped. Raises Fenced when it may write nothing at all.
    """
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        held = _held(connection, batch.claims)
        _write_steps(connection, batch.rows, held)
        _finish(connection, [done for done in batch.finished if done.item in held])
        for back in batch.given_back:
            if back.item in held:
                _give_back(connection, back)
        return _claim(connection, holder, wanted) if wanted else []


def release_strays(database: Database, holder: Holder, known: set[int]) -> None:
    """Give back items that an interrupted commit claimed without this process learning of it."""
    with database.writer.begin() as connection:
        hold_fence(connection, holder.session)
        connection.execute(
            update(Item)
            .where(Item.session == holder.session, Item.job == holder.job.id, Item.state == "claimed",
                   Item.id.not_in(known))
            .values(state="owed", session=None)
        )  # fmt: skip


def _held(connection: Connection, claims: dict[int, int]) -> set[int]:
    if not claims:
        return set()
    rows = connection.execute(select(Item.id, Item.claim, Item.state).where(Item.id.in_(claims)))
    return {row.id for row in rows if row.claim == claims[row.id] and row.state in ("claimed", "done")}


def _write_steps(connection: Connection, rows: dict[type, list[tuple]], held: set[int]) -> None:
    insert_rows(connection, TextBlock.__table__, COLUMNS[TextBlock], list(dict.fromkeys(rows.get(TextBlock, ()))))
    for table, compared in {Attempt: (), **COMPARED}.items():
        kept = [row for row in rows.get(table, ()) if row[0] in held]
        insert_rows(connection, table.__table__, COLUMNS[table], kept, compared)


def _finish(connection: Connection, finished: list[Finished]) -> None:
    if not finished:
        return
    episodes = [
        {"key": done.item, "attempt_": done.attempt, "ending_": done.outcome.ending, "answer_": done.outcome.answer,
         "message_": done.outcome.message, "calls_": done.calls, "prompt_tokens_": done.prompt_tokens,
         "completion_tokens_": done.completion_tokens, "seconds_": done.seconds}
        for done in finished if done.outcome
    ]  # fmt: skip
    if episodes:
        names = ("attempt", "ending", "answer", "message", "calls", "prompt_tokens", "completion_tokens", "seconds")
        connection.execute(
            # An empty ending is the only one that may be replaced: one accepted result.
            update(EpisodeRow)
            .where(EpisodeRow.id == bindparam("key"), EpisodeRow.ending == "")
            .values({name: bindparam(f"{name}_") for name in names} | {"finished_at": now()}),
            episodes,
        )
    scores = [
        (done.item, score.metric, score.version, score.value, score.detail)
        for done in finished
        for score in done.scores
    ]
    insert_rows(connection, ScoreRow.__table__, _SCORE_COLUMNS, scores)
    connection.execute(
        update(Item).where(Item.id == bindparam("key"), Item.state == "claimed").values(
            state="done", session=None, problem="", output=bindparam("output_")
        ),
        [{"key": done.item, "output_": done.output} for done in finished],
    )  # fmt: skip


def _give_back(connection: Connection, back: GivenBack) -> None:
    changes: dict[str, Any] = {"state": "owed", "session": None}
    if back.problem:
        changes |= {"problem": back.problem, "failures": Item.failures + 1, "not_before_at": now() + back.wait_seconds}
    connection.execute(update(Item).where(Item.id == back.item, Item.state == "claimed").values(**changes))


def _claim(connection: Connection, holder: Holder, wanted: int) -> list[Claimed]:
    job = holder.job
    due = select(Item.id).where(Item.job == job.id, Item.state == "owed", Item.not_before_at <= now())
    if job.ordered:
        before = aliased(Item)
        due = due.where(
            ~exists().where(and_(before.job == job.id, before.ordinal == Item.ordinal - 1, before.state != "done"))
        )
        wanted = 1
    due = due.order_by(Item.ordinal).limit(wanted).with_for_update(skip_locked=True, of=Item.__table__)
    keys = list(connection.execute(due).scalars())
    if not keys:
        return []
    connection.execute(
        update(Item).where(Item.id.in_(keys)).values(state="claimed", claim=Item.claim + 1, session=holder.session)
    )
    wants_episodes = job.kind != "train"
    if wants_episodes:
        _open_episodes(connection, holder, keys)
    return _read_claimed(connection, job.benchmark, keys, wants_episodes)


def _open_episodes(connection: Connection, holder: Holder, keys: list[int]) -> None:
    """Write the episode and its first attempt for items claimed the first time."""
    job = holder.job
    first = select(Item).where(Item.id.in_(keys), Item.claim == 1).subquery()
    origin = "converted" if job.kind == "convert" else "run"
    names = ["id", "job", "task", "sample", "formulation", "agent", "origin", "split", "licence", "attempt", "ending",
             "message", "calls", "prompt_tokens", "completion_tokens", "seconds", "started_at"]  # fmt: skip
    values = select(
        first.c.id, first.c.job, first.c.task, first.c.sample, bindparam("formulation", job.formulation),
        bindparam("agent", job.agent), bindparam("origin", origin), bindparam("split", job.split),
        bindparam("licence", job.licence), bindparam("one", 1), bindparam("ending", ""), bindparam("message", ""),
        bindparam("zero", 0), bindparam("zero2", 0), bindparam("zero3", 0), bindparam("none", 0.0), now(),
    )  # fmt: skip
    connection.execute(insert(EpisodeRow).from_select(names, values))
    connection.execute(
        insert(Attempt).from_select(
            ["episode", "number", "code_version", "started_at"],
            select(first.c.id, bindparam("one", 1), bindparam("version", holder.code_version), now()),
        )
    )


def _read_claimed(connection: Connection, benchmark: str, keys: list[int], episodes: bool) -> list[Claimed]:
    rows = connection.execute(
        select(Item.id, Item.ordinal, Item.claim, Item.sample, TaskRow.row, TaskRow.question, TaskRow.inputs,
               TaskRow.gold, TaskRow.dataset)
        .outerjoin(TaskRow, TaskRow.id == Item.task)
        .where(Item.id.in_(keys))
        .order_by(Item.ordinal)
    ).all()  # fmt: skip
    again = [row.id for row in rows if row.claim > 1] if episodes else []
    attempts = {}
    if again:
        newest = select(Attempt.episode, func.max(Attempt.number)).where(Attempt.episode.in_(again))
        attempts = dict(connection.execute(newest.group_by(Attempt.episode)).all())
    steps = load_steps(connection, attempts) if attempts else {}
    return [
        Claimed(
            row.id,
            row.ordinal,
            row.claim,
            row.sample,
            _task(benchmark, row),
            attempts.get(row.id, 1),
            tuple(steps.get(row.id, ())),
        )
        for row in rows
    ]


def _task(benchmark: str, row: Any) -> Task | None:
    if row.row is None:
        return None
    return Task(benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)
