"""Write the files of a build from the staging database: the rows in order, their lineage and the digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lumos_queue.builds.folder import LINEAGE
from lumos_queue.builds.formats import open_writer, suffix
from lumos_queue.builds.staging_database import StagingDatabase

_FILES = (
    "SELECT DISTINCT kept.part, line.file FROM kept JOIN line ON line.candidate = kept.candidate "
    "ORDER BY kept.part = 'dev', line.file"
)
_LINES = (
    "SELECT line.key, line.json, line.turns, line.other, one.name, one.job, one.level, one.licence, one.benchmark, "
    "one.origin, one.given, one.gold "
    "FROM kept JOIN candidate one ON one.id = kept.candidate "
    "JOIN line ON line.candidate = kept.candidate AND line.file = ? WHERE kept.part = ? "
    "ORDER BY kept.place, line.rowid"
)


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file of rows."""

    file: str  #: relative to the build's folder
    part: str  #: train or dev
    rows: int
    average_turns: float  #: replies in one row
    sha256: str  #: of the file


def write_rows(
    database: StagingDatabase, format: str, folder: Path, options: dict[str, Any]
) -> tuple[str, list[WrittenFile]]:
    """Write every file and `lineage.jsonl`. Return the build's digest and the files.

    The digest covers the options and every row in order, as JSON text. It does not cover code version, date and
    episodes.
    """
    hasher = hashlib.sha256(json.dumps(options, sort_keys=True, ensure_ascii=False).encode())
    files = []
    with (folder / LINEAGE).open("w", encoding="utf-8", newline="\n") as lineage:

        def trace(row: dict[str, Any]) -> None:
            hasher.update(f"\n{row['file']} {row['sha256']}".encode())
            lineage.write(json.dumps(row, ensure_ascii=False) + "\n")

        for part, file in list(database.read(_FILES)):
            files.append(_write_file(database, format, folder, part, file, trace))
    return hasher.hexdigest(), files


def _write_file(
    database: StagingDatabase, format: str, folder: Path, part: str, file: str, trace: Callable[[dict[str, Any]], None]
) -> WrittenFile:
    name = ("" if part == "train" else f"{part}/") + file + suffix(format)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    rows = replies = 0
    writer = open_writer(path, format)
    try:
        for key, line, turns, bad_name, episode, job, level, licence, benchmark, origin, roles, gold in database.read(
            _LINES, file, part
        ):
            writer.add(line)
            rows, replies = rows + 1, replies + turns
            lineage = {
                "id": key,
                "file": name,
                "sha256": hashlib.sha256(line.encode()).hexdigest(),
                "episode": episode,
                "job": job,
                "benchmark": benchmark,
                "origin": origin,
                "level": level,
                "licence": licence,
            }
            prefill = {"given": roles.split()} | ({"gold": gold} if gold else {}) if roles else {}
            trace(lineage | prefill | ({"rejected": bad_name} if bad_name else {}))
    finally:
        writer.close()
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    return WrittenFile(name, part, rows, round(replies / rows, 2), sha256)


def files_as_json(files: list[WrittenFile]) -> list[dict[str, Any]]:
    return [asdict(file) for file in files]
