"""Find the file of a benchmark's rows: a person names it, or `lumos data get` has fetched it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.downloads.cache import path_of
from lumos_queue.downloads.catalogue import PublicFile, list_set
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.util.regular_file import accept_pipe


class MissingData(SpecError):
    """Raised when the rows of a benchmark are missing, and the public file `file` with these rows can be fetched."""

    def __init__(self, benchmark: str, file: PublicFile):
        self.benchmark, self.file = benchmark, file
        super().__init__(f"There is no data of '{benchmark}' here. {_how_to_get(file.name)}")


def find_data(
    benchmark: Benchmark, data: Path | None, split: str, settings: Settings, remark: Callable[[str], None]
) -> Path | None:
    """Return the file or folder to read; None if none is needed, or if the benchmark itself reports a missing file.

    `remark` gets one line with the name of the fetched file. Raises MissingData, with the command that fetches it, for
    a missing public file, and SpecError if the public files have only other splits.
    """
    files = list_set(benchmark.name)
    if data is not None:
        accept_pipe(data)
        if files and not data.exists():
            raise SpecError(f"Cannot read '{data}': it does not exist. {_how_to_get(benchmark.name)}")
        return data
    if not benchmark.needs_data or not files:
        return None
    matching_files = [file for file in files if split in file.splits]
    if not matching_files:
        raise SpecError(
            f"No public file of '{benchmark.name}' has the split '{split}'. There {_list_files(files)}. Choose a "
            "split with --split, or give a file with --data PATH."
        )
    for file in matching_files:
        if (path := path_of(file, settings.home / "data")).is_file():
            remark(f"data: '{path}'")
            return path
    raise MissingData(benchmark.name, matching_files[0])


def _how_to_get(name: str) -> str:
    return f"Fetch it with: lumos data get {name}; or give the original file with --data PATH."


def _list_files(files: list[PublicFile]) -> str:
    names = [f"{file.name} ({', '.join(file.splits)})" for file in files if file.splits]
    return f"{'is' if len(names) == 1 else 'are'} {', '.join(names) or 'none that are read without --data'}"
