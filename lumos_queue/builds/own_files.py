"""Count and describe the rows of a build that come from users' files instead of published benchmarks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.benchmarks.from_file.definition import PREFIX, is_file_benchmark
from lumos_queue.builds.staging_database import StagingDatabase

_ROWS = (
    "SELECT source.benchmark, source.dataset, count(*) FROM kept JOIN candidate source ON source.id = kept.candidate "
    "JOIN line ON line.candidate = source.id GROUP BY 1, 2 ORDER BY 1, 2"
)


def count_own_rows(database: StagingDatabase, files: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the number of rows from users' files in a build, by title: in total and by dataset.

    Files with the same title are different datasets. `files` maps the digest of a dataset to the sha256 of its file;
    a dataset that a program made has no file.
    """
    counts: dict[str, dict[str, Any]] = {}
    for benchmark, dataset, rows in database.read(_ROWS):
        if is_file_benchmark(benchmark):
            own_file = counts.setdefault(benchmark, {"rows": 0, "datasets": []})
            own_file["rows"] += rows
            own_file["datasets"].append({"dataset": dataset, "rows": rows, "sha256": files.get(dataset, "")})
    return counts


def describe_own_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each user's file of a build; an empty list for a build of earlier code."""
    return [
        f"{name} is your own file '{name.removeprefix(PREFIX)}', and no published benchmark; "
        f"{_describe_datasets(own_file)}"
        for name, own_file in manifest.get("own_files", {}).items()
    ]


def _describe_datasets(own_file: Mapping[str, Any]) -> str:
    datasets = own_file["datasets"]
    if len(datasets) == 1:
        return f"sha256 of the file: {datasets[0]['sha256'] or 'not known'}"
    parts = [f"{part['rows']:,} rows of a file with the sha256 {part['sha256'] or 'not known'}" for part in datasets]
    return f"{len(datasets)} datasets have this title: {'; '.join(parts)}"
