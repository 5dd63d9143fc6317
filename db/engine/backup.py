"""A consistent copy of an SQLite database, made while others write."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from sqlalchemy.engine import make_url

from db.engine.connection import Database
from lumos_queue.errors import SpecError


def backup(database: Database, file: Path) -> int:
    """Copy the database as it is at one moment into a new file of mode 0600; return the file's size in bytes.

    Raises SpecError for a PostgreSQL database, which `pg_dump` copies, and when the file exists or cannot be written.
    """
    if not database.is_sqlite:
        raise SpecError(f"A PostgreSQL database is copied with: {_pg_dump(database.url, file)}")
    if file.exists():
        raise SpecError(f"'{file}' exists already: name a new file for the backup.")
    partial_file = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        os.close(os.open(partial_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise SpecError(f"Cannot write in '{file.parent}': {error.strerror}.") from None
    try:
        _copy(database, partial_file)
        with partial_file.open("rb") as copy:
            os.fsync(copy.fileno())
        try:
            os.link(partial_file, file)  # a rename would replace a file that was made there meanwhile
        except FileExistsError:
            raise SpecError(f"'{file}' exists already: name a new file for the backup.") from None
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return file.stat().st_size
    finally:
        with suppress(FileNotFoundError):
            partial_file.unlink()


def _copy(database: Database, file: Path) -> None:
    """Copy all pages within one read transaction. Other writers do not wait; their later writes are not copied."""
    with database.engine.connect() as connection, closing(sqlite3.connect(file)) as target:
        connection.rollback()
        source = connection.connection.driver_connection
        assert isinstance(source, sqlite3.Connection)
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # one file, which can be read in a read-only folder too


def _pg_dump(url: str, file: Path) -> str:
    address = make_url(url)
    words = ["pg_dump", "--format=custom", f"--file={file}"]
    host = address.host or address.query.get("host")
    for name, value in (("host", host), ("port", address.port), ("username", address.username)):
        words += [f"--{name}={value}"] if value else []
    return " ".join([*words, str(address.database)])
