"""The rows that a request asks for: of a file that it names, of the one that was fetched, or given by a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.data_files import find_data
from lumos_queue.submission.given_rows import GivenRows, GivenTasks, open_given
from lumos_queue.submission.store import Rows, read_rows


def read_asked_rows(
    benchmark: Benchmark, data: Path | None, split: str, skip_bad_rows: bool, options: Mapping[str, str],
    sample: Callable[[Sequence[Task]], Sequence[Task]] | None, settings: Settings, remark: Callable[[str], None],
    given: GivenRows | None, *, teaching: bool = False,
) -> Rows:  # fmt: skip
    """All rows, or those that `sample` draws. Raises SpecError as `find_data`, `open_given` and `read_rows` do."""
    if given is None:
        path = find_data(benchmark, data, split, settings, remark)
        return read_rows(benchmark, path, split, skip_bad_rows, options, sample, teaching)
    if data is not None:
        raise SpecError("Give rows or data, not both.")
    with open_given(given) as found:
        if isinstance(found, Path):
            try:
                return read_rows(benchmark, found, split, skip_bad_rows, options, sample, teaching)
            except SpecError as error:  # the file is of no use to the person: it is gone by then
                raise SpecError(str(error).replace(f"'{found}'", "rows").replace(str(found), "rows")) from None
        rows = read_rows(GivenTasks(benchmark, found), None, split, skip_bad_rows, options, sample)
        return replace(rows, benchmark=benchmark)
