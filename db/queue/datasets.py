"""Store the rows that jobs work on, and a job's items, in chunks if there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sqlalchemy import Connection, insert, literal, select, update

from db.engine.bulk import as_json, copy_rows, insert_rows
from db.engine.chunks import Chunks
from db.engine.rows.declaration import declaration_of
from db.engine.rows.jobs import NewItem, NewTask, StoredDataset
from db.models import Dataset, Item, TaskRow
from db.queue.equal_tasks import have_equal_tasks
from lumos_queue.records import Task


@dataclass(frozen=True, slots=True)
class NewDataset:
    """The rows that a job works on, to be stored as a dataset."""

    digest: str
    benchmark: str
    split: str
    licence: str
    tasks: Sequence[Task]  #: their texts, inputs and gold as they can be stored (util/sanitize.py)
    file_sha256: str = ""  #: of the file that they were read from; '': not known
    published: str = ""  #: the name of the published file, or `generated`; '': unknown


def open_dataset(connection: Connection, dataset: NewDataset) -> bool:
    """Insert the dataset unless it is stored, and lock it against removal until this transaction ends.

    Returns whether all of its tasks are stored.
    """
    row = StoredDataset(
        dataset.digest,
        dataset.benchmark,
        dataset.split,
        dataset.licence,
        len(dataset.tasks),
        dataset.file_sha256,
        dataset.published,
        complete=False,
    )
    query = select(Dataset.complete).where(Dataset.digest == dataset.digest).with_for_update(key_share=True, read=True)
    while True:
        insert_rows(connection, StoredDataset, [row])
        if stored_row := connection.execute(query).first():  # else it was removed between the two
            verify_rows(connection, dataset)
            return stored_row.complete


def verify_rows(connection: Connection, dataset: NewDataset) -> None:
    """Store the name of the published file with a stored dataset that has none, if the name is known now."""
    if dataset.published:
        _store_origin(connection, dataset, dataset.digest)


def _verify_equal_rows(connection: Connection, dataset: NewDataset) -> None:
    """Verify datasets from before files were hashed that have equal tasks: their reader left out white space."""
    if not dataset.published:
        return
    query = select(Dataset.digest).where(
        Dataset.benchmark == dataset.benchmark,
        Dataset.rows == len(dataset.tasks),
        Dataset.published == "",
        Dataset.file_sha256 == "",
        Dataset.complete,
    )
    for digest in connection.execute(query).scalars().all():
        if have_equal_tasks(connection, digest, dataset.digest):
            _store_origin(connection, dataset, digest)


def _store_origin(connection: Connection, dataset: NewDataset, digest: str) -> None:
    """Store the published file of `dataset` with the dataset of this digest, unless a file is known."""
    connection.execute(
        update(Dataset)
        .where(Dataset.digest == digest, Dataset.published == "")
        .values(published=dataset.published, file_sha256=dataset.file_sha256, split=dataset.split)
    )


def count_rows(connection: Connection, dataset: str) -> int:
    """Return the number of rows of a dataset; 0 if it is not stored."""
    return connection.execute(select(Dataset.rows).where(Dataset.digest == dataset)).scalar() or 0


def load_tasks(connection: Connection, benchmark: str, dataset: str, positions: Sequence[int]) -> list[Task]:
    """Return the tasks at these positions of a stored dataset, in order. Raises KeyError for a missing task."""
    columns = (TaskRow.ordinal, TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold)
    query = select(*columns).where(TaskRow.dataset == dataset, TaskRow.ordinal.in_(positions))
    rows = {row.ordinal: row for row in connection.execute(query)}
    return [
        Task(benchmark, dataset, row.row, row.question, row.inputs, row.gold)
        for row in (rows[position] for position in positions)
    ]


def encode_tasks(dataset: NewDataset, first: int, last: int) -> list[NewTask]:
    """Return the tasks from position `first` to before `last` as rows for `store_tasks`. This takes no lock."""
    return [
        NewTask(
            dataset.digest,
            ordinal,
            task.row,
            task.question,
            as_json(task.inputs) if task.inputs else "{}",
            as_json(task.gold),
        )
        for ordinal, task in enumerate(dataset.tasks[first:last], start=first)
    ]


def store_tasks(connection: Connection, dataset: NewDataset, rows: Sequence[NewTask]) -> bool:
    """Store the tasks that are not stored yet. Return whether all tasks of the dataset are stored now.

    Only one process at a time stores tasks of a dataset, and no process if the dataset is complete.
    """
    of_dataset = Dataset.digest == dataset.digest
    if connection.execute(select(Dataset.complete).where(of_dataset).with_for_update(key_share=True)).scalar_one():
        return True
    first, last = rows[0].ordinal, rows[-1].ordinal
    between = (TaskRow.dataset == dataset.digest, TaskRow.ordinal >= first, TaskRow.ordinal <= last)
    if connection.dialect.name == "sqlite" or not connection.execute(select(TaskRow.id).where(*between).limit(1)).all():
        copy_rows(connection, NewTask, rows)
    else:  # left by a process that was interrupted
        insert_rows(connection, NewTask, rows)
    if last + 1 < len(dataset.tasks):
        return False
    connection.execute(update(Dataset).where(of_dataset).values(complete=True))
    _verify_equal_rows(connection, dataset)
    return True


def store_items(connection: Connection, job: str, dataset: str, tasks: int, first: int, last: int) -> None:
    """Store a job's items from `first` to before `last`, which are on the first `tasks` tasks, sample by sample."""
    while first < last:
        sample, begin = divmod(first, tasks)
        end = min(tasks, begin + last - first)
        columns = literal(job), TaskRow.ordinal + sample * tasks, TaskRow.id, literal(sample)
        query = (
            select(*columns, *map(literal, NewItem._field_defaults.values()))
            .where(TaskRow.dataset == dataset, TaskRow.ordinal >= begin, TaskRow.ordinal < end)
            .order_by(TaskRow.ordinal)
        )
        connection.execute(insert(Item).from_select(declaration_of(NewItem).columns, query))
        first += end - begin


def store_windows(connection: Connection, job: str, first: int, last: int) -> None:
    """Store a job's items from `first` to before `last`, which have no task: the windows of a training."""
    rows = [NewItem(job, ordinal, None, 0) for ordinal in range(first, last)]
    insert_rows(connection, NewItem, rows)


def store_in_chunks(chunks: Chunks, job: str, dataset: NewDataset, tasks: int, samples: int) -> None:
    """Store the missing tasks of a dataset, then all items of a job that is being submitted."""
    first, complete = 0, False
    # While a server stores one chunk, a thread prepares the next one. With a file, this would save no time.
    with ThreadPoolExecutor(1) as ahead:
        future = None
        while first < len(dataset.tasks) and not complete:
            rows = future.result() if future else encode_tasks(dataset, first, first + chunks.rows)
            first += len(rows)
            if not chunks.database.is_sqlite:
                future = ahead.submit(encode_tasks, dataset, first, first + chunks.rows)
            with chunks.transaction() as connection:
                chunks.touch(connection, job)
                complete = store_tasks(connection, dataset, rows)
    for first, last in _pieces(chunks, tasks * samples):
        with chunks.transaction() as connection:
            chunks.touch(connection, job)
            store_items(connection, job, dataset.digest, tasks, first, last)


def _pieces(chunks: Chunks, total: int) -> Iterator[tuple[int, int]]:
    first = 0
    while first < total:
        last = min(total, first + chunks.rows)
        yield first, last
        first = last
