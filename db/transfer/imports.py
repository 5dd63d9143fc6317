"""Store episodes that no worker ran: read from files, or corrected by a person. All of them become visible, or none.

Rows are stored in chunks, under a job in state `importing` whose episodes have no ending yet: no query counts them as
finished, and no worker finds a pending item. One last transaction ends all episodes. The rows that a killed process
leaves are removed when the same content is stored again, or with `lumos rm`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from sqlalchemy import Connection, func, select, update

from db.engine.bulk import as_json, insert_rows, update_rows
from db.engine.connection import Database, now
from db.engine.rows.episodes import EpisodeEnding, NewEpisode, NewScore, NewVerdict
from db.engine.rows.jobs import NewItem, NewTask, StoredDataset
from db.engine.rows.steps import STEP_ROWS, NewAttempt
from db.engine.time_conditions import now_after
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.journal.text_blocks import insert_texts
from db.kinds.states import ItemState, JobState
from db.models import Dataset, Item, JobRow, TaskRow
from db.queue.job_changes import remove
from db.queue.new_jobs import NewJob, insert_job, lock_digest, new_id
from db.queue.sums import add_counted
from db.queue.web_actions import PersonAction
from lumos_queue.commands import Step
from lumos_queue.errors import LumosError, SpecError
from lumos_queue.records import Outcome, Score, Task, Verdict

CHUNK = 500  #: episodes of one transaction


@dataclass(frozen=True, slots=True)
class ImportedEpisode:
    """An episode to store. Texts must be storable (lumos_queue/util/sanitize.py)."""

    task: Task | int  #: a task of the import's own dataset, or the key of a stored one
    steps: Sequence[Step]
    outcome: Outcome
    level: str = ""  #: how its annotation was checked (records.LEVELS); empty: it was not
    verdicts: Sequence[Verdict] = ()
    scores: Sequence[Score] = ()
    parent: int | None = None  #: the episode it corrects
    sample: int = 0


def store_episodes(
    database: Database,
    new: NewJob,
    episodes: Iterable[ImportedEpisode],
    origin: str,
    dataset: str | None = None,
    again: bool = False,
    action: PersonAction | None = None,
) -> tuple[str, bool]:
    """Store the episodes as a job that is done; return its id and whether the job is new, or was stored before.

    `origin` is 'imported' or 'corrected'. `dataset` is the digest of a new dataset for tasks that are not stored yet;
    it may be None when all tasks are stored. `action` is recorded in the transaction that makes the episodes visible.
    Memory grows by eight bytes for each episode. An error of the iterator `episodes` is raised after the rows stored so
    far are removed.
    """
    job = new_id()
    with database.writer.begin() as connection:
        lock_digest(connection, new.digest)
        states = dict(connection.execute(select(JobRow.id, JobRow.state).where(JobRow.digest == new.digest)).all())
        if not again and (
            same := next((candidate for candidate, state in states.items() if state == JobState.DONE), None)
        ):
            return same, False
        _open(connection, job, new, origin, dataset)
    for stale_job in (candidate for candidate, state in states.items() if state == JobState.IMPORTING):
        remove(database, stale_job)
    try:
        keys_by_ending = _write(database, job, new, origin, dataset, iter(episodes))
        _publish(database, job, dataset, keys_by_ending, action)
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            remove(database, job)
        raise
    return job, True


def _open(connection: Connection, job: str, new: NewJob, origin: str, dataset: str | None) -> None:
    if dataset:
        insert_rows(connection, StoredDataset, [StoredDataset(dataset, new.benchmark, new.split, new.licence, 0)])
    insert_job(
        connection,
        job,
        replace(new, origin=origin, ordered=False),
        dataset=dataset,
        items=0,
        state=JobState.IMPORTING,
        started_at=now(),
    )


def _write(
    database: Database, job: str, new: NewJob, origin: str, dataset: str | None, episodes: Iterator[ImportedEpisode]
) -> dict[str, array[int]]:
    """Write all episodes, chunk by chunk; return the keys of the episodes by ending."""
    keys_by_ending: dict[str, array[int]] = {}
    first, tasks = 0, 0
    while chunk := list(islice(episodes, CHUNK)):
        with database.writer.begin() as connection:
            _require(connection, job)
            keys = _store_tasks(connection, dataset, tasks, chunk)
            items = _store_items(connection, job, first, keys, chunk)
            _store_chunk(connection, items, keys, chunk, job, new, origin)
        for item, episode in zip(items, chunk, strict=True):
            keys_by_ending.setdefault(str(episode.outcome.ending), array("q")).append(item)
        first += len(chunk)
        tasks += sum(isinstance(episode.task, Task) for episode in chunk)
    return keys_by_ending


def _require(connection: Connection, job: str) -> None:
    """Raise SpecError if a person, or the same import in another process, has removed the job meanwhile."""
    if connection.execute(select(JobRow.id).where(JobRow.id == job).with_for_update()).first() is None:
        raise SpecError(f"Job {job} was removed while its episodes were being stored: nothing of it is left.")


def _store_tasks(
    connection: Connection, dataset: str | None, first: int, chunk: Sequence[ImportedEpisode]
) -> list[int]:
    """Store the new tasks, the first with ordinal `first` of the dataset; return the key of each episode's task."""
    fresh = [episode.task for episode in chunk if isinstance(episode.task, Task)]
    if fresh:
        if dataset is None:
            raise LumosError("tasks that are not stored yet need a dataset")
        rows = [
            NewTask(dataset, first + index, task.row, task.question, as_json(task.inputs), as_json(task.gold))
            for index, task in enumerate(fresh)
        ]
        insert_rows(connection, NewTask, rows)
    stored_keys = connection.execute(
        select(TaskRow.id)
        .where(TaskRow.dataset == dataset, TaskRow.ordinal >= first, TaskRow.ordinal < first + len(fresh))
        .order_by(TaskRow.ordinal)
    ).scalars()
    keys = iter(stored_keys.all() if fresh else ())
    return [next(keys) if isinstance(episode.task, Task) else episode.task for episode in chunk]


def _store_items(
    connection: Connection, job: str, first: int, keys: Sequence[int], chunk: Sequence[ImportedEpisode]
) -> list[int]:
    """Store items that are done from the start, so that no worker claims them; return their keys in order."""
    rows = [
        NewItem(job, first + index, key, episode.sample, ItemState.DONE.value, claim=1)
        for index, (key, episode) in enumerate(zip(keys, chunk, strict=True))
    ]
    insert_rows(connection, NewItem, rows)
    query = select(Item.id).where(Item.job == job, Item.ordinal >= first).order_by(Item.ordinal)
    return list(connection.execute(query).scalars())


def _store_chunk(
    connection: Connection,
    items: Sequence[int],
    keys: Sequence[int],
    chunk: Sequence[ImportedEpisode],
    job: str,
    new: NewJob,
    origin: str,
) -> None:
    buffer = Buffer()
    rows: list[NewEpisode] = []
    scores: list[NewScore] = []
    verdicts: list[NewVerdict] = []
    for item, key, episode in zip(items, keys, chunk, strict=True):
        journal, outcome = EpisodeJournal(item, 1, buffer, {}), episode.outcome
        for step in episode.steps:
            journal.record(step)
        buffer.add(NewAttempt(item, 1, new.code_version))
        rows.append(
            NewEpisode(
                item,
                job,
                key,
                episode.sample,
                new.formulation,
                new.agent,
                origin,
                new.split,
                new.licence,
                parent=episode.parent,
                level=str(episode.level),
                answer=outcome.answer,
                message=outcome.message,
                totals=journal.figures.totals,
            )
        )
        scores += [
            NewScore(item, score.metric, score.version, score.value, score.of, score.detail) for score in episode.scores
        ]
        verdicts += [
            NewVerdict(item, verdict.module, verdict.name, verdict.rejects, verdict.detail)
            for verdict in episode.verdicts
        ]
    steps, contents = buffer.take()
    insert_rows(connection, NewEpisode, rows)
    insert_texts(connection, contents.texts)
    for row_type in (NewAttempt, *STEP_ROWS):
        insert_rows(connection, row_type, steps.get(row_type, []))
    insert_rows(connection, NewScore, scores)
    insert_rows(connection, NewVerdict, verdicts)


def _publish(
    database: Database,
    job: str,
    dataset: str | None,
    keys_by_ending: dict[str, array[int]],
    action: PersonAction | None,
) -> None:
    """Give every episode its ending, and the job its state, which makes them visible."""
    with database.writer.begin() as connection:
        _require(connection, job)
        for ending, keys in keys_by_ending.items():
            for start in range(0, len(keys), 10_000):
                rows = [EpisodeEnding(key, ending) for key in keys[start : start + 10_000]]
                update_rows(connection, EpisodeEnding, rows, "s.ending = ''")
        add_counted(connection, 0, Item.job == job)
        count = sum(map(len, keys_by_ending.values()))
        if action:
            action.record(connection, f"stored as {job}" + ("-0" if count == 1 else f", {count:,} episodes"))
        stored_count = select(func.count()).where(TaskRow.dataset == dataset).scalar_subquery()
        if dataset:
            connection.execute(
                update(Dataset).where(Dataset.digest == dataset, Dataset.rows == 0).values(rows=stored_count)
            )
        connection.execute(
            update(JobRow)
            .where(JobRow.id == job)
            .values(items=count, state=JobState.DONE, finished_at=now_after(JobRow.started_at))
        )
