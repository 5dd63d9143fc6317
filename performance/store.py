"""Where the bare loop and the peers keep their episodes: one SQLite file, one transaction for each episode."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import orjson

Step = tuple[str, str, str]  #: role, what the user said, reply


class Store:
    """One connection, shared by the threads of a process.

    An episode survives the death of the process; with `durable`, as this project's own do, that of the machine, too.
    """

    def __init__(self, path: Path, durable: bool = False):
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        for statement in (
            "PRAGMA journal_mode=WAL",
            f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}",
            "CREATE TABLE IF NOT EXISTS episode (number INTEGER PRIMARY KEY, answer TEXT, correct INTEGER, "
            "calls INTEGER, steps TEXT, stored_at REAL)",
            "CREATE TABLE IF NOT EXISTS step (number INTEGER, place INTEGER, role TEXT, said TEXT, reply TEXT, "
            "PRIMARY KEY (number, place)) WITHOUT ROWID",
        ):
            self._connection.execute(statement)

    def save(self, number: int, answer: str, correct: bool, steps: Sequence[Step]) -> None:
        """An episode with all its steps."""
        row = (number, answer, correct, len(steps), orjson.dumps(steps).decode(), time.time())
        with self._lock:
            self._connection.execute("INSERT INTO episode VALUES (?, ?, ?, ?, ?, ?)", row)

    def save_step(self, number: int, position: int, step: Step) -> None:
        """One step in a transaction of its own."""
        with self._lock:
            self._connection.execute("INSERT INTO step VALUES (?, ?, ?, ?, ?)", (number, position, *step))

    def counts(self, first: int) -> tuple[int, int, float]:
        """Of the questions from `first` on: episodes stored, how many of them are right, when the last was stored."""
        query = "SELECT count(*), coalesce(sum(correct), 0), coalesce(max(stored_at), 0) FROM episode WHERE number >= ?"
        with self._lock:
            return self._connection.execute(query, (first,)).fetchone()

    def close(self) -> None:
        self._connection.close()
