"""Compare two builds: their rows by join key and file, and their options."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lumos_queue.builds.folder import LINEAGE, read_manifest
from lumos_queue.errors import SpecError
from lumos_queue.util.regular_file import open_regular_text

RowKey = tuple[str, str]  #: file without its ending, join key


def compare_builds(first_folder: Path, second_folder: Path) -> dict[str, Any]:
    """Return the rows that only the first (`only_a`) or second build (`only_b`) has, and the rows that `changed`.

    Each is a list of {file, id, rows}. The report also has `digests`, the number of `same` rows, and the `options` that
    differ. Raises SpecError for a folder that is not a build.
    """
    manifests = read_manifest(first_folder), read_manifest(second_folder)
    first, second = _rows(first_folder), _rows(second_folder)
    only_a, only_b, changes, same = [], [], [], 0
    for key in sorted(first.keys() | second.keys()):
        left, right = first.get(key, Counter()), second.get(key, Counter())
        same += (left & right).total()
        removals, additions = (left - right).total(), (right - left).total()
        for target, rows in (
            (changes, min(removals, additions)),
            (only_a, removals - additions),
            (only_b, additions - removals),
        ):
            if rows > 0:
                target.append({"file": key[0], "id": key[1], "rows": rows})
    a, b = manifests[0]["options"], manifests[1]["options"]
    names = sorted(a.keys() | b.keys())
    return {
        "digests": [manifest["digest"] for manifest in manifests],
        "same": same,
        "changed": changes,
        "only_a": only_a,
        "only_b": only_b,
        "options": {name: [a.get(name), b.get(name)] for name in names if a.get(name) != b.get(name)},
    }


def _rows(folder: Path) -> dict[RowKey, Counter[bytes]]:
    rows: dict[RowKey, Counter[bytes]] = defaultdict(Counter)
    for row in _lineage(folder / LINEAGE):
        rows[row["file"].rpartition(".")[0], row["id"]][bytes.fromhex(row["sha256"])] += 1
    return rows


def _lineage(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with open_regular_text(path, path.parent) as lines:
            for line in lines:
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise SpecError(f"'{path}' cannot be read: {error}") from None
