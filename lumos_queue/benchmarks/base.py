"""What every benchmark offers, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lumos_queue.errors import BadRow
from lumos_queue.records import Annotation, Score, Task


class Benchmark(Protocol):
    """A set of tasks, the domain whose actions solve them, and a score."""

    name: str
    domain: str  #: the action interface and dialogue domain, e.g. 'maths'
    licence: str  #: of the data, as an SPDX id where there is one
    splits: tuple[str, ...]  #: the splits this benchmark can make or read; files come as one split, named by the user
    needs_data: bool  #: whether `read` needs a path

    def read(self, path: Path | None, split: str) -> Iterator[Task | BadRow]:
        """The tasks in file order, or the reason why a row is none. Tasks come with `dataset=''`: the job fills it in.

        Raises SpecError when the file as a whole cannot be read (missing, not this format: the first difference named).
        """
        ...

    def gold(self, task: Task) -> Annotation:
        """The gold solution in LUMOS form. Raises SpecError with a short named reason when the row states none."""
        ...

    def score(self, task: Task, answer: str | None) -> Sequence[Score]:
        """Judge an answer. The first score is the benchmark's main metric, 0 or 1."""
        ...

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        """What rules without a model get right: rule name to one verdict per task."""
        ...
