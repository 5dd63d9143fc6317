"""Collect tasks as they are read: few tasks in memory, many in a file without a name, so that memory stays small.

The file is in the folder for temporary files (TMPDIR) and about as large as the data. It disappears with its
last reader, also after a kill. A benchmark's file is read once: it may be a pipe, and may change afterwards.
"""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any

from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.util.read_sequence import ReadSequence

IN_MEMORY = 5000  #: tasks that need no file
BLOCK = 500  #: tasks that are written, and read, at once

_PackedTask = tuple[str, str, Any, Any]


class TaskFile(ReadSequence[Task]):
    """A list of tasks that grows only at its end. Their inputs and gold are JSON values; `dataset` is set in each."""

    def __init__(self, benchmark: str):
        self.benchmark, self.dataset = benchmark, ""
        self._recent: list[_PackedTask] = []  #: tasks that are not in the file
        self._offsets: list[int] = []  #: where each block of the file begins, and where the last one ends
        self._file: IO[bytes] | None = None
        self._read: tuple[int, list[_PackedTask]] = (-1, [])  #: the block that was read last

    def append(self, task: Task) -> None:
        """Add a task. Raises SpecError when the file cannot be written."""
        self._recent.append((task.row, task.question, task.inputs, task.gold))
        if len(self._recent) > IN_MEMORY:
            self._write()

    def freeze(self, dataset: str) -> Sequence[Task]:
        """Return all tasks with the dataset's digest, in memory if they are few. No task is added later."""
        self.dataset = dataset
        return self if self._file else tuple(self)

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file, self._offsets = tempfile.TemporaryFile(prefix="lumos-rows-"), [0]  # noqa: SIM115 - kept open
            for first in range(0, IN_MEMORY, BLOCK):
                size = self._file.write(marshal.dumps(self._recent[first : first + BLOCK], 2))
                self._offsets.append(self._offsets[-1] + size)
            self._file.flush()
        except OSError as error:
            raise SpecError(
                f"Cannot keep the rows in the folder for temporary files, '{tempfile.gettempdir()}': "
                f"{error.strerror}. Name another folder with TMPDIR."
            ) from None
        del self._recent[:IN_MEMORY]

    @property
    def _file_length(self) -> int:
        return max(0, len(self._offsets) - 1) * BLOCK

    def __len__(self) -> int:
        return self._file_length + len(self._recent)

    def read_between(self, first: int, last: int) -> Iterator[Task]:
        return map(self._unpack, self._packed_between(first, last))

    def _packed_between(self, first: int, last: int) -> Iterator[_PackedTask]:
        while first < last:
            if first >= self._file_length:
                yield from self._recent[first - self._file_length : last - self._file_length]
                return
            block, begin = divmod(first, BLOCK)
            end = min(BLOCK, begin + last - first)
            yield from self._load(block)[begin:end]
            first += end - begin

    def _load(self, block: int) -> list[_PackedTask]:
        if self._read[0] != block:
            assert self._file
            self._file.seek(self._offsets[block])
            self._read = block, marshal.loads(self._file.read(self._offsets[block + 1] - self._offsets[block]))
        return self._read[1]

    def _unpack(self, packed_task: _PackedTask) -> Task:
        return Task(self.benchmark, self.dataset, *packed_task)


class FirstTasks(ReadSequence[Task]):
    """The first tasks of a sequence. Each task is read from the sequence when it is needed."""

    def __init__(self, tasks: Sequence[Task], count: int):
        self._tasks, self._count = tasks, min(count, len(tasks))

    def __len__(self) -> int:
        return self._count

    def read_between(self, first: int, last: int) -> Iterator[Task]:
        if isinstance(self._tasks, ReadSequence):
            return self._tasks.read_between(first, last)
        return iter(self._tasks[first:last])
