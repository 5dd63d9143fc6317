"""The database in which a build is made: a file, so that memory does not grow with the number of rows.

SQLite runs without a journal: if the process dies, the file is removed with the incomplete build.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

#: A candidate is an episode that rows were made of; `why` is the reason for its exclusion, NULL while it is included.
_TABLES = """
CREATE TABLE candidate (
    id INTEGER PRIMARY KEY, episode INTEGER, name TEXT, job TEXT, benchmark TEXT, dataset TEXT, domain TEXT, row TEXT,
    origin TEXT, licence TEXT, strict INTEGER, given TEXT, gold TEXT, content TEXT, level TEXT, checked INTEGER,
    score REAL, subgoals INTEGER, finished_at REAL, parent INTEGER,
    good INTEGER, completeness INTEGER, task TEXT, source TEXT, solution TEXT, text TEXT,
    rule TEXT, part TEXT DEFAULT 'train', why TEXT
);
CREATE INDEX candidate_task ON candidate(benchmark, task);
CREATE INDEX candidate_text ON candidate(text);
CREATE TABLE line (candidate INTEGER, file TEXT, key TEXT, json TEXT, turns INTEGER, other TEXT);
CREATE INDEX line_candidate ON line(candidate, file);
CREATE TABLE ask (candidate INTEGER, place INTEGER, role TEXT, prompt TEXT, reply TEXT);
CREATE INDEX ask_candidate ON ask(candidate, place);
CREATE TABLE band (key BLOB, candidate INTEGER, PRIMARY KEY (key, candidate)) WITHOUT ROWID;
CREATE TABLE corrected (episode INTEGER PRIMARY KEY);
CREATE TABLE kept (place INTEGER PRIMARY KEY, candidate INTEGER, part TEXT);
"""
#: The order of rows depends on their content alone, not on which episode was stored first.
#: Candidates that differ in their ids alone make the same rows.
CONTENT_ORDER = (
    "benchmark, length(row), row, completeness DESC, checked DESC, text, strict DESC, licence, origin, content, id"
)


def share_of(seed: int | str, text: str) -> float:
    """Return a uniform number from 0 to 1 that depends on seed and text alone. SQL calls it `share`."""
    return int.from_bytes(hashlib.sha256(f"{seed} {text}".encode()).digest()[:8], "big") / 2**64


def hash_of(text: str) -> str:
    """Return a hash that identifies a text. SQL calls it `hash`."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class StagingDatabase:
    """The tables of a build in one SQLite file."""

    def __init__(self, path: Path):
        self._file = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-16000"):
            self._file.execute(f"PRAGMA {pragma}")
        self._file.create_function("share", 2, share_of, deterministic=True)
        self._file.create_function("hash", 1, hash_of, deterministic=True)
        self._file.executescript(_TABLES)
        self._file.execute("BEGIN")

    def close(self) -> None:
        self._file.close()

    def insert(self, table: str, values: Sequence[dict[str, Any]]) -> int:
        """Add rows with the same columns. Return the id of a single row; 0 for none or several."""
        if not values:
            return 0
        names = list(values[0])
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
        if len(values) == 1:
            return self._file.execute(statement, list(values[0].values())).lastrowid or 0
        self._file.executemany(statement, ([row[name] for name in names] for row in values))
        return 0

    def run(self, statement: str, *values: Any) -> int:
        """Run a statement that changes rows. Return the number of changed rows."""
        return self._file.execute(statement, values).rowcount

    def read(self, statement: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return iter(self._file.execute(statement, values))

    def one(self, statement: str, *values: Any) -> Any:
        """Return the first column of the first row; None when there is no row."""
        row = self._file.execute(statement, values).fetchone()
        return row[0] if row else None

    def exclude(self, why: str, candidates: Iterable[int]) -> None:
        """Exclude these candidates for that reason."""
        self._file.executemany(
            "UPDATE candidate SET why = ? WHERE id = ?", ((why, candidate) for candidate in candidates)
        )

    def exclusions(self) -> dict[str, int]:
        """Return the number of excluded candidates by reason."""
        statement = "SELECT why, count(*) FROM candidate WHERE why IS NOT NULL GROUP BY why ORDER BY why"
        return dict(self._file.execute(statement).fetchall())
