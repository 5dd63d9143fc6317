"""Read databases that older code wrote. Each is a gzipped file in this folder with a JSON line for each row."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import MetaData, text
from sqlalchemy.types import LargeBinary

from db.engine.connection import Database, open_database
from db.engine.migrate import require_current, upgrade
from db.models import CompletionRow

Lines = list[tuple[str, dict[str, Any]]]
PORT = "127.0.0.1:PORT"  #: stands for the address of the model server


def make_port_replacement(port: int) -> dict[str, str]:
    """Return the `replacements` of a database whose model server listens on this port."""
    return {PORT: f"127.0.0.1:{port}"}


def read(rows_file: Path, replacements: Mapping[str, str] | None = None) -> Lines:
    """Return every row of the old database with its table, in an order in which they can be inserted.

    `replacements`: the word that stands for an address or a folder (PORT) to its current value.
    """
    with gzip.open(rows_file, "rt", encoding="utf-8") as file:
        lines = file.read()
    for word, value in (replacements or {}).items():
        lines = lines.replace(word, value)
    return [json.loads(line) for line in lines.splitlines()]


def open_old(request: pytest.FixtureRequest, folder: Path, revision: str, lines: Lines) -> Database:
    """Open a database with these rows at a revision, of the fixture's kind (`request.param`: sqlite or postgresql)."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{folder / 'lumos.db'}"
    database = open_database(url if sqlite else request.getfixturevalue("postgres_server").fresh("template1"))
    upgrade(database, revision)
    load(database, lines)
    return database


def bring_up_to_date(database: Database) -> None:
    upgrade(database)
    require_current(database)


def write_files(folder: Path, lines: Lines) -> Lines:
    """Write the lines of files to the folder; return the lines of tables."""
    for _, values in (line for line in lines if line[0] == "file"):
        path = folder / values["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b64decode(values["base64"]))
    return [line for line in lines if line[0] != "file"]


def load(database: Database, lines: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Insert rows that `read` returned."""
    tables, rows = MetaData(), defaultdict(list)
    for table, values in lines:
        rows[table].append(values)
    with database.writer.begin() as connection:
        tables.reflect(connection)
        for name, values in rows.items():
            table = tables.tables[name]
            binary = [column.name for column in table.columns if isinstance(column.type, LargeBinary)]
            for row in values:
                row.update({column: b64decode(row[column]["base64"]) for column in binary if row[column] is not None})
            connection.execute(table.insert(), values)
            if not database.is_sqlite and "id" in table.columns and table.columns["id"].type.python_type is int:
                sequence = f"pg_get_serial_sequence('{name}', 'id')"
                connection.execute(
                    text(f"SELECT setval({sequence}, (SELECT max(id) FROM {name})) WHERE {sequence} IS NOT NULL")
                )


def jobs(database: Database) -> dict[str, str]:
    """Return the id of the job of each project. The project names the purpose of the job."""
    with database.engine.connect() as connection:
        return dict(connection.execute(text("SELECT project, id FROM job")).all())


def load_prompt_digests(database: Database, job: str) -> list[str]:
    """Return the prompt digests of all recorded calls of a job, those of abandoned attempts included."""
    query = text(
        "SELECT c.prompt_digest FROM completion c JOIN episode e ON e.id = c.episode WHERE e.job = :job"
    ).columns(CompletionRow.prompt_digest)
    with database.engine.connect() as connection:
        return sorted(digest.hex() for digest in connection.execute(query, {"job": job}).scalars())
