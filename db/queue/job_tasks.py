"""The tasks of a stored job, read block by block, so that a loop over them needs memory for one block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Select, select

from db.models import Item, JobRow, TaskRow
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.util.read_sequence import ReadSequence

BLOCK = 1000  #: tasks that are read, and in memory, at once
NUMBERS_AT_ONCE = 10_000  #: numbers of items read at once


class JobTasks(ReadSequence[Task]):
    """The tasks of a job, in order, each once. The object has one block in memory, and reads a block when needed.

    Between two blocks the connection is in no transaction: PostgreSQL ends a transaction that is idle for too long,
    and the code that reads the tasks may be slow.
    """

    def __init__(self, connection: Connection, job: str):
        self._connection, self._job = connection, job
        self._starts: list[int] = []  #: the number of each block's first item
        self._length = 0
        self._block: tuple[int, list[Task]] = (-1, [])  #: the block that was read last, with its index
        #: The error of a block that could not be read. Code that reads the tasks (a plug-in's benchmark) may hide it.
        self.failure: Exception | None = None
        benchmark = select(JobRow.benchmark).where(JobRow.id == job)
        self._benchmark = connection.execute(benchmark).scalar() or ""
        numbers = select(Item.ordinal).where(Item.job == job, Item.sample == 0, Item.task.is_not(None))
        rows = connection.execute(numbers.order_by(Item.ordinal).execution_options(yield_per=NUMBERS_AT_ONCE))
        for number in rows.scalars():
            if self._length % BLOCK == 0:
                self._starts.append(number)
            self._length += 1
        connection.rollback()

    def __len__(self) -> int:
        return self._length

    def read_between(self, first: int, last: int) -> Iterator[Task]:
        while first < last:
            block, begin = divmod(first, BLOCK)
            end = min(BLOCK, begin + last - first)
            yield from self._load(block)[begin:end]
            first += end - begin

    def _load(self, block: int) -> list[Task]:
        """Read the tasks of a block. Raises SpecError when the job was removed meanwhile."""
        if self._block[0] != block:
            try:
                self._block = block, self._read(block)
            except Exception as error:
                self.failure = error
                raise
        return self._block[1]

    def _read(self, block: int) -> list[Task]:
        rows = self._connection.execute(self._select(block)).all()
        self._connection.rollback()
        if len(rows) < min(BLOCK, self._length - block * BLOCK):
            raise SpecError(f"Job {self._job} was removed while its tasks were read, so there is no report.")
        return [Task(self._benchmark, *row) for row in rows]

    def _select(self, block: int) -> Select[str, str, str, Any, Any]:
        return (
            select(TaskRow.dataset, TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold)
            .join(Item, Item.task == TaskRow.id)
            .where(Item.job == self._job, Item.sample == 0, Item.ordinal >= self._starts[block])
            .order_by(Item.ordinal)
            .limit(BLOCK)
        )
