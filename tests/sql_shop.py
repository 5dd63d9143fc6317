"""A small database and an episode on it, for tests of the SQL actions."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from pathlib import Path

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.episode import StepContext
from lumos_queue.records import Action, Execution, Task


def make_databases(root: Path) -> Path:
    """A folder of databases: `shop`, and two files that are none."""
    (root / "shop").mkdir()
    with sqlite3.connect(root / "shop" / "shop.sqlite") as connection:
        connection.executescript("""
            CREATE TABLE hat (hat_id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, bought DATE);
            INSERT INTO hat VALUES (1, 'Fez', 12.5, '2021-03-04'), (2, 'Boater', 30, NULL), (3, 'Cap', 8, '2020-01-02');
            CREATE TABLE size (code TEXT PRIMARY KEY, hat_id INT, "in stock" INT DEFAULT 0);
            INSERT INTO size VALUES ('s', 1, 4), ('S', 2, 0), ('m', 3, 7);
        """)
    connection.close()
    (root / "text").mkdir()
    (root / "text" / "text.sqlite").write_text("this is no database " * 100)
    (root / "torn").mkdir()
    (root / "torn" / "torn.sqlite").write_bytes((root / "shop" / "shop.sqlite").read_bytes()[:4096] + b"\xff" * 5000)
    return root


def digest(folder: Path) -> str:
    return hashlib.sha256((folder / "shop" / "shop.sqlite").read_bytes()).hexdigest()


class Episode:
    """Statements one after another in one episode."""

    def __init__(self, actions: SqlActions, database="shop"):
        self.session = actions.begin(Task("intercode_sql", "", "1", "?", {"database": database}))
        self.done: list[tuple[Action, Execution]] = []

    def __call__(self, text: str) -> Execution:
        action = Action((f"R{len(self.done) + 1}",), "", text)
        variables = {a.variables[0]: e.values[0] for a, e in self.done if e.ok}
        execution = asyncio.run(self.session.execute(action, StepContext(len(self.done), 0, variables, self.done)))
        self.done.append((action, execution))
        return execution
