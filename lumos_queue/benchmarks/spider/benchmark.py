"""Spider: questions about databases, with SQL queries, from `dev.json` with `tables.json` beside it; an invented row:

    {"db_id": "shop", "question": "Which hats cost most?", "query": "SELECT name FROM hat ORDER BY price LIMIT 1", …}

The rule makes gold solutions in LUMOS's form of InterCode-SQL: find the tables, write the selection, write the
conditions if there are any, finish the query. Actions are SQL, not calls: `R2 = (name FROM hat)`. The result of the
first action is the schema. The result of any other action is its text, as the environment echoes it, because the file
does not have the rows of a query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.rationales.enumeration import enumerate_words
from lumos_queue.rationales.queries import read_query
from lumos_queue.rationales.steps import Steps, reject_variables
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Annotation, Level, Task

FIELDS = ("db_id", "query")
FORMAT = "Spider's dev.json or train.json, rows with 'db_id', 'question' and 'query'"
TABLES_FORMAT = "Spider's tables.json (beside the questions), rows with 'db_id' and 'column_names'"


class Spider(Benchmark):
    name = "spider"
    domain = "intercode_sql"
    teacher_prompt = "sql"
    licence = "CC-BY-SA-4.0"
    check_level = Level.FORMAT

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        rows = read_records(path, FORMAT, FIELDS)
        schemas = _schemas(path.with_name("tables.json")) if path else {}  # without a path, no row is read
        return tasks(rows, partial(self._task, schemas))

    def _task(self, schemas: Mapping[str, str], row: int, record: Mapping[str, Any]) -> Task:
        node = RowNode(row, "", record)
        database = node["db_id"].text()
        if database not in schemas:
            raise node["db_id"].bad(f"tables.json has no database '{database[:60]}'")
        gold = {"answer": node["query"].text(verbatim=True), "schema": schemas[database]}
        return Task(self.name, "", str(row), node["question"].raw_text(), {"database": database}, gold)

    def rationale(self, task: Task) -> str:
        """Return the rationale: a text with the tables of the database, and the query. Raises NotConvertible."""
        query = read_query(task.gold["answer"]).whole
        return f"The database has these tables: {task.gold['schema']}. The SQL query is: {query}"

    def gold(self, task: Task) -> Annotation:
        query, steps = read_query(task.gold["answer"]), Steps()
        reject_variables(query.whole)
        steps.add(
            "Find the tables of the database and their columns.",
            [("", "SHOW TABLES", f"Results: {task.gold['schema']}.")],
        )
        noun = "tables" if len(query.tables) > 1 else "table"
        origin = f" from the {noun} {enumerate_words(query.tables)}" if query.tables else ""
        steps.add(f"Write the selection of {query.objects}{origin}.", [("", query.selection, query.selection)])
        if query.conditions:
            steps.add(f"Write {enumerate_words(query.kinds)}.", [("", query.conditions, query.conditions)])
        steps.add("Finish the SQL query.", [("", query.whole, query.whole)])
        return steps.finish(task.gold["answer"])

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the answer is the gold query, ignoring case and spaces."""
        return _plain(answer or "") == _plain(task.gold["answer"])


def _plain(query: str) -> str:
    return " ".join(query.casefold().split()).rstrip("; ")


def _schemas(path: Path) -> dict[str, str]:
    """Return database to schema: `Table hat has name (type: TEXT), price (type: NUMBER); Table …`. Raises SpecError."""
    schemas = {}
    for item in read_records(path, TABLES_FORMAT, ("db_id", "column_names", "column_names_original")):
        try:
            if isinstance(item, BadRow):
                raise item
            node = RowNode(item[0], "", item[1])
            schemas[node["db_id"].text()] = _schema(node)
        except BadRow as bad:
            raise SpecError(f"'{path}' is not {TABLES_FORMAT}: {bad}.") from bad
    return schemas


def _schema(node: RowNode) -> str:
    tables = node["table_names_original"].texts()
    types = node["column_types"].texts()
    columns: list[list[str]] = [[] for _ in tables]
    for index, column in enumerate(node["column_names_original"].items()):
        table, name = column.items()[:2]
        if table.whole() >= len(tables) or index >= len(types):
            raise column.bad("no such table, or no type")
        if table.value >= 0:  # -1 is `*`
            columns[table.value].append(f"{name.text()} (type: {types[index].upper()})")
    return "; ".join(
        f"Table {table} has {', '.join(table_columns)}" for table, table_columns in zip(tables, columns, strict=True)
    )


benchmark = Spider()
