"""Read the rows of a request from a file that it names, from a fetched file, or from a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.checks import is_built_in
from lumos_queue.benchmarks.from_file.definition import is_file_benchmark
from lumos_queue.downloads.catalogue import GENERATED, has_split
from lumos_queue.downloads.published_files import find_published
from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.data_files import find_data
from lumos_queue.submission.program_rows import GivenRows, ProgramTasks, open_program_rows
from lumos_queue.submission.row_file import watch_file
from lumos_queue.submission.store import Rows, read_rows


def read_requested_rows(
    benchmark: Benchmark,
    data: Path | None,
    split: str,
    skip_bad_rows: bool,
    options: Mapping[str, str],
    sample: Callable[[Sequence[Task]], Sequence[Task]] | None,
    settings: Settings,
    remark: Callable[[str], None],
    program_rows: GivenRows | None,
    *,
    teaching: bool = False,
) -> Rows:
    """Return all rows of the request, or the rows that `sample` selects; `teaching` reads rows for a conversion.

    Raises the errors of `find_data`, `open_program_rows`, `watch_file` and `read_rows`.
    """
    if program_rows is None:
        path = find_data(benchmark, data, split, settings, remark)
        with watch_file(path) as sha256:
            rows = read_rows(benchmark, path, split, skip_bad_rows, options, sample, teaching)
        return replace(rows, file_sha256=sha256, published=_find_published(benchmark, path, sha256, settings))
    if data is not None:
        raise SpecError("Give rows or data, not both.")
    with open_program_rows(program_rows) as source:
        if isinstance(source, Path):
            try:
                return read_rows(benchmark, source, split, skip_bad_rows, options, sample, teaching)
            except SpecError as error:  # the file is temporary: its path means nothing to a person
                raise SpecError(str(error).replace(f"'{source}'", "rows").replace(str(source), "rows")) from None
        rows = read_rows(ProgramTasks(benchmark, source), None, split, skip_bad_rows, options, sample)
        return replace(rows, benchmark=benchmark)


def _find_published(benchmark: Benchmark, path: Path | None, sha256: str, settings: Settings) -> str:
    """Return the name of the published file that was read, or `generated`; '' for rows that are not known."""
    if not is_built_in(benchmark) or is_file_benchmark(benchmark.name):
        return ""
    if path is None:
        return "" if benchmark.needs_data else GENERATED
    return find_published(benchmark.name, sha256, settings.home / "data")


def is_stated(is_published: bool, rows: Rows, data: Path | None) -> bool:
    """Return whether to store --published. It is not stored for rows that are known to be published.

    Raises SpecError for a person's own rows, and for a published file without rows of the split.
    """
    if not is_published:
        return False
    if is_file_benchmark(rows.benchmark.name):
        raise SpecError(
            f"--published is for a benchmark's own rows: '{rows.benchmark.name}' is your own file. Leave it out."
        )
    if rows.published in ("", GENERATED):
        return not rows.published
    if not has_split(rows.published, rows.split):
        raise SpecError(
            f"'{data or rows.published}' is {rows.published}, which has no rows of the split '{rows.split}'. Leave out "
            "--published, or choose the split with --split."
        )
    return False
