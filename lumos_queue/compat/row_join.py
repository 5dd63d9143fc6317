"""Join planner rows with the grounder rows that were made from the same annotation.

The ids do not match, because each file numbers its rows separately. Two rows belong together if their tasks and their
subgoals are equal. If several rows of a file are equal in this way, the first is paired with the first of the other
file, the second with the second, and so on. The index is on disk, so files may be larger than the memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from lumos_queue.commands import digest
from lumos_queue.compat.lines import JsonLine, JsonLines, read_line
from lumos_queue.compat.reading import ReleasedRow, read_row
from lumos_queue.errors import BadRow
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.sanitize import storable_json

MAX_BAD_ROWS_KEPT = 100  #: bad rows stored for messages; further bad rows are only counted

_TABLE = """CREATE TABLE row (module TEXT, start INTEGER, number INTEGER, id TEXT, task TEXT, plan TEXT, content TEXT,
            UNIQUE (module, id))"""
#: Each row with its rank among the rows of its module that have the same task and subgoals.
_RANKED = """CREATE TABLE ranked AS SELECT module, start, number, id, task, plan,
             row_number() OVER (PARTITION BY module, task, plan ORDER BY start) AS rank FROM row"""
_RANKED_INDEX = "CREATE INDEX ranked_key ON ranked (module, task, plan, rank)"
_PAIRS = """CREATE TABLE pair AS SELECT p.id, p.task, p.start AS plan_start, p.number AS plan_number,
             g.start AS ground_start, g.number AS ground_number FROM ranked AS p CROSS JOIN ranked AS g
             WHERE p.module = 'plan' AND g.module = 'ground' AND g.task = p.task AND g.plan = p.plan
             AND g.rank = p.rank ORDER BY p.start"""
_TASK_KNOWN = """SELECT count(*) FROM ranked WHERE module = ?
                 AND EXISTS (SELECT 1 FROM ranked AS other WHERE other.module = ? AND other.task = ranked.task)"""


@dataclass
class JoinSummary:
    """The counts of rows and pairs in the two files, and the problems of rows."""

    rows: dict[str, int] = field(default_factory=dict)  #: readable rows by module, each once
    duplicates: int = 0  #: rows that repeat an earlier row of their file
    bad: list[tuple[Path, BadRow]] = field(default_factory=list)  #: the first of them
    bad_rows: int = 0
    domains: set[str] = field(default_factory=set)
    formulation: str = ""
    sha256: dict[str, str] = field(default_factory=dict)  #: of each module's file
    pairs: int = 0
    other_plan: dict[str, int] = field(default_factory=dict)  #: unpaired rows whose task the other file has, by module

    def add_bad(self, path: Path, bad: BadRow) -> None:
        self.bad_rows += 1
        if len(self.bad) < MAX_BAD_ROWS_KEPT:
            self.bad.append((path, bad))


class Join:
    """The index of two files; `open_join` makes it. `summary` has the counts and problems of the files."""

    def __init__(self, index: sqlite3.Connection, paths: dict[str, Path]):
        self._index, self._paths, self.summary = index, paths, JoinSummary()
        for module, path in paths.items():
            self._add(module, path)
        for statement in (_RANKED, _RANKED_INDEX, _PAIRS):
            self._index.execute(statement)
        self.summary.pairs = self._count("SELECT count(*) FROM pair")
        for module, other_module in (("plan", "ground"), ("ground", "plan")):
            self.summary.rows[module] = self._count("SELECT count(*) FROM row WHERE module = ?", module)
            self.summary.other_plan[module] = self._count(_TASK_KNOWN, module, other_module) - self.summary.pairs

    def tasks(self) -> Iterator[tuple[str, str]]:
        """Yield (id of the planner's row, digest of the task) for each pair, in the order of the planner's file."""
        yield from self._index.execute("SELECT id, task FROM pair ORDER BY rowid")

    def pairs(self) -> Iterator[tuple[ReleasedRow, ReleasedRow]]:
        """Yield each pair (planner's row, grounder's row), in the order of the planner's file."""
        with open_regular(self._paths["plan"]) as plans, open_regular(self._paths["ground"]) as groundings:
            query = "SELECT plan_start, plan_number, ground_start, ground_number FROM pair ORDER BY rowid"
            for plan_start, plan_number, ground_start, ground_number in self._index.execute(query):
                yield _read_at(plans, plan_start, plan_number), _read_at(groundings, ground_start, ground_number)

    def _count(self, query: str, *values: str) -> int:
        return self._index.execute(query, values).fetchone()[0]

    def _add(self, module: str, path: Path) -> None:
        lines = JsonLines(path)
        for line in lines:
            try:
                if isinstance(line, BadRow):
                    raise line
                self._add_row(module, line)
            except BadRow as bad:
                self.summary.add_bad(path, bad)
        self.summary.sha256[module] = lines.sha256

    def _add_row(self, module: str, line: JsonLine) -> None:
        row, summary = _read(line), self.summary
        if row.module != module:
            raise BadRow(line.number, "messages", f"is a row of a {row.module} file, and this is the {module} file")
        summary.formulation = summary.formulation or row.formulation
        if row.formulation != summary.formulation:
            raise BadRow(line.number, "messages", f"is {row.formulation}; the rows before it are {summary.formulation}")
        content = digest(row.domain, row.task, *row.subgoals, *row.results, *row.groundings)
        values = (module, line.start, line.number, row.id, digest(row.task), digest(*row.subgoals), content)
        if not self._index.execute("INSERT OR IGNORE INTO row VALUES (?, ?, ?, ?, ?, ?, ?)", values).rowcount:
            number, known_content = self._index.execute(
                "SELECT number, content FROM row WHERE module = ? AND id = ?", (module, row.id)
            ).fetchone()
            if known_content != content:
                raise BadRow(line.number, "id", f"'{row.id}' is also the id of row {number}, which differs")
            summary.duplicates += 1
        summary.domains.add(row.domain)


@contextmanager
def open_join(plan: Path, ground: Path) -> Iterator[Join]:
    """Read both files and yield their index, which is deleted at the end. Raises SpecError if a file does not exist."""
    index = sqlite3.connect("", isolation_level=None)  # without a name it is a temporary file, deleted at the end
    try:
        for setting in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -16384"):
            index.execute(f"PRAGMA {setting}")
        index.execute(_TABLE)
        index.execute("BEGIN")
        yield Join(index, {"plan": plan, "ground": ground})
    finally:
        index.close()


def _read(line: JsonLine) -> ReleasedRow:
    row: Any = storable_json(line.row)
    return read_row(JsonLine(line.number, line.start, row))


def _read_at(file: BinaryIO, start: int, number: int) -> ReleasedRow:
    """Read row `number`, which begins at the byte `start`. Raises BadRow if the file has changed since the indexing."""
    file.seek(start)
    line = read_line(file.readline(), number, start)
    if isinstance(line, BadRow):
        raise line
    return _read(line)
