"""Opening the database: one engine, whose write transactions start as such."""

from __future__ import annotations

import os
import select
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Float

from db.lines import Lines
from lumos_queue.errors import InfrastructureError, SpecError

#: File systems on which SQLite's locks do not hold between machines.
NETWORK_FILESYSTEMS = frozenset((
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2",
    "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs",
))  # fmt: skip

#: How soon the kernel notices a server that is gone without a word: seconds, but for the last in milliseconds. Each
#: can be set in the database's URL instead.
_NOTICING = {"connect_timeout": 10, "keepalives": 1, "keepalives_idle": 10, "keepalives_interval": 5,
             "keepalives_count": 3, "tcp_user_timeout": 15_000}  # fmt: skip


class now(FunctionElement):
    """Seconds since 1970 by the database's clock, at this very statement (not the transaction's start)."""

    type = Float()
    inherit_cache = True


@compiles(now, "postgresql")
def _now_postgresql(element, compiler, **_):
    return "(extract(epoch from clock_timestamp())::double precision)"


@compiles(now, "sqlite")
def _now_sqlite(element, compiler, **_):
    # unixepoch('subsec') is NULL before SQLite 3.42; 2440587.5 is the Julian day of 1970-01-01.
    return "((julianday('now') - 2440587.5) * 86400.0)"


class numbers(FunctionElement):
    """A list of whole numbers sent as one JSON text, for `column.op("IN")(numbers(bindparam(…)))`.

    A statement with so many parameters as there are numbers would be another one each time.
    """

    inherit_cache = True


@compiles(numbers, "postgresql")
def _numbers_postgresql(element, compiler, **options):
    sent = compiler.process(element.clauses, **options)
    return f"(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST({sent} AS json)))"


@compiles(numbers, "sqlite")
def _numbers_sqlite(element, compiler, **options):
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))"


@dataclass(frozen=True, slots=True)
class Database:
    """`engine` for reading; `writer` for transactions that will write, which queue up for SQLite's one write lock."""

    url: str
    engine: Engine
    writer: Engine
    lines: Lines | None = None  #: of a server; a file answers or fails by itself

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str, lease_seconds: float = 15.0) -> Database:
    """Engines for the database at `url`; nothing is created or migrated here.

    Raises SpecError when the URL, the driver or the file's place will not do, InfrastructureError when it is silent.
    """
    try:
        address = make_url(url)
    except ArgumentError:
        raise SpecError("LUMOS_DATABASE_URL is no URL: expected sqlite:///FILE or postgresql://HOST/NAME.") from None
    if address.get_backend_name() == "sqlite":
        engine, lines = _open_sqlite(address), None
    else:
        # A transaction left idle holds the fence and item locks: the server ends it before the lease does.
        milliseconds = int(lease_seconds * 1000 * 2 / 3)
        options = f"-c idle_in_transaction_session_timeout={milliseconds} -c timezone=UTC"
        noticing = {name: value for name, value in _NOTICING.items() if name not in address.query}
        engine = create_engine(address, pool_size=4, connect_args={**noticing, "options": options})
        event.listen(engine, "checkout", _refuse_if_closed)
        lines = Lines(engine)
    try:
        with engine.connect():
            pass
    except OperationalError as error:
        shown = address.render_as_string(hide_password=True)
        reason = str(error.orig).strip().splitlines()[-1]
        raise InfrastructureError(f"The database at {shown} does not answer: {reason}") from None
    return Database(url, engine, engine.execution_options(lumos_write=True), lines)


def _refuse_if_closed(connection: Any, _record: object, _proxy: object) -> None:
    """A connection that the server has closed meanwhile is replaced by a new one, without a round trip to find out.

    Between transactions a server says nothing but farewell.
    """
    if connection.closed or _has_something_to_read(connection):
        raise DisconnectionError("the server has closed the connection")


def _has_something_to_read(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _open_sqlite(address) -> Engine:
    if not address.database or address.database == ":memory:":
        raise SpecError("An in-memory SQLite database is gone with its process: name a file, sqlite:///FILE.")
    path = Path(address.database)
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"Cannot create the folder '{folder}' for the database: {error.strerror}.") from None
    kind = filesystem(folder)
    if kind in NETWORK_FILESYSTEMS:
        raise SpecError(
            f"The database '{path}' lies on a network file system ({kind}), where SQLite loses writes: "
            "set LUMOS_HOME to a local folder or LUMOS_DATABASE_URL to a PostgreSQL server."
        )
    if not os.access(path if path.exists() else folder, os.W_OK) or not os.access(folder, os.W_OK):
        raise SpecError(f"Cannot write the database '{path}': the folder is read-only. Set LUMOS_HOME to another one.")
    engine = create_engine(address, connect_args={"timeout": 10, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection, _record):
        connection.isolation_level = None  # transactions are begun below, not by the driver's guesses
        for pragma in ("busy_timeout=10000", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")
        _use_wal(connection)

    @event.listens_for(engine, "begin")
    def begin(connection):
        # Reading first and writing later cannot wait for the lock: a transaction that will write takes it at once.
        writes = connection.get_execution_options().get("lumos_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _use_wal(connection: sqlite3.Connection) -> None:
    """A new file changes to write-ahead logging once; of two who do so at once, one is refused without any waiting."""
    for seconds in (0.01, 0.05, 0.2, 1.0):
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode=WAL")
            return
        time.sleep(seconds)
    connection.execute("PRAGMA journal_mode=WAL")


def filesystem(folder: Path) -> str:
    """The type of the file system that holds `folder` (Linux; empty elsewhere)."""
    try:
        mounts = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place = str(folder.resolve()).rstrip("/") + "/"
    best, kind = "", ""
    for line in mounts:
        parts = line.split()
        point = parts[1].replace("\\040", " ").rstrip("/") + "/"
        if place.startswith(point) and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind
