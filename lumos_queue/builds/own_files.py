"""What a build states of rows that come from people's own files, which are no published benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.benchmarks.from_file.definition import PREFIX, is_file_benchmark
from lumos_queue.builds.staging import StagingDatabase

_ROWS = (
    "SELECT one.benchmark, one.dataset, count(*) FROM kept JOIN candidate one ON one.id = kept.candidate "
    "JOIN line ON line.candidate = one.id GROUP BY 1, 2 ORDER BY 1, 2"
)


def count_own_rows(staging: StagingDatabase, files: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the rows of each benchmark of a file, and the sha256 of its files as far as they are known.

    `files`: the sha256 of the file of each dataset, by the dataset's digest.
    """
    counts: dict[str, dict[str, Any]] = {}
    for benchmark, dataset, rows in staging.read(_ROWS):
        if is_file_benchmark(benchmark):
            own = counts.setdefault(benchmark, {"rows": 0, "sha256": []})
            own["rows"] += rows
            if (sha256 := files.get(dataset)) and sha256 not in own["sha256"]:
                own["sha256"] = sorted([*own["sha256"], sha256])
    return counts


def describe_own_files(manifest: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each own file of a build; none for a build of earlier code."""
    return [
        f"{name} is your own file '{name.removeprefix(PREFIX)}', and no published benchmark; "
        f"sha256 of the file: {', '.join(own['sha256']) or 'not known'}"
        for name, own in manifest.get("own_files", {}).items()
    ]
