"""Opening the database: one engine, whose write transactions start as such."""

from __future__ import annotations

import select
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DisconnectionError, OperationalError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Float

from db.server_connections import ServerConnections
from db.server_needs import check_server
from db.sqlite import open_sqlite
from lumos_queue.errors import InfrastructureError, SpecError

#: How soon the kernel notices a server that is gone without notice: in seconds, the last in milliseconds. Each can
#: be set in the database's URL instead.
_TCP_OPTIONS = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


class now(FunctionElement):
    """Seconds since 1970 by the database's clock, at this statement (not the transaction's start)."""

    type = Float()
    inherit_cache = True


@compiles(now, "postgresql")
def _now_postgresql(_element: now, _compiler: SQLCompiler, **_: object) -> str:
    return "(extract(epoch from clock_timestamp())::double precision)"


@compiles(now, "sqlite")
def _now_sqlite(_element: now, _compiler: SQLCompiler, **_: object) -> str:
    # unixepoch('subsec') is NULL before SQLite 3.42; 2440587.5 is the Julian day of 1970-01-01.
    return "((julianday('now') - 2440587.5) * 86400.0)"


class numbers(FunctionElement):
    """A list of whole numbers sent as one JSON text, for `column.op("IN")(numbers(bindparam(…)))`.

    A statement with a parameter for each number would be another statement each time.
    """

    inherit_cache = True


@compiles(numbers, "postgresql")
def _numbers_postgresql(element: numbers, compiler: SQLCompiler, **options: Any) -> str:
    sent = compiler.process(element.clauses, **options)
    return f"(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST({sent} AS json)))"


@compiles(numbers, "sqlite")
def _numbers_sqlite(element: numbers, compiler: SQLCompiler, **options: Any) -> str:
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))"


@dataclass(frozen=True, slots=True)
class Database:
    """`engine` for reading; `writer` for transactions that will write, which queue up for SQLite's one write lock."""

    url: str
    engine: Engine
    writer: Engine
    connections: ServerConnections | None = None  #: those to a server; a file answers or fails by itself

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        self.engine.dispose()


def open_database(url: str, lease_seconds: float = 15.0) -> Database:
    """Engines for the database at `url`; no table is created or migrated here.

    Nothing is written either: one that may only be read can be read.
    Raises SpecError when the URL, the driver, the file's place or the server's database cannot be used,
    InfrastructureError when the server is silent.
    """
    try:
        address = make_url(url)
    except ArgumentError:
        raise SpecError("LUMOS_DATABASE_URL is not a URL: expected sqlite:///FILE or postgresql://HOST/NAME.") from None
    if address.get_backend_name() == "sqlite":
        engine, connections = open_sqlite(address), None
        milliseconds = None
    else:
        # A transaction left idle holds the fence and item locks: the server ends it before the lease does.
        milliseconds = int(lease_seconds * 1000 * 2 / 3)
        options = f"-c idle_in_transaction_session_timeout={milliseconds} -c timezone=UTC"
        options_unset = {name: value for name, value in _TCP_OPTIONS.items() if name not in address.query}
        engine = create_engine(address, pool_size=4, connect_args={**options_unset, "options": options})
        event.listen(engine, "checkout", _refuse_if_closed)
        connections = ServerConnections(engine)
    try:
        with engine.connect() as connection:
            if milliseconds is not None:
                check_server(connection, milliseconds)
    except OperationalError as error:
        shown = address.render_as_string(hide_password=True)
        reason = str(error.orig).strip().splitlines()[-1]
        if "unsupported startup parameter" in reason:
            raise SpecError(
                f"The database at {shown} refuses a connection's settings ({reason}), as pgbouncer does: write the "
                "address of PostgreSQL itself into LUMOS_DATABASE_URL."
            ) from None
        raise InfrastructureError(f"The database at {shown} does not answer: {reason}") from None
    return Database(url, engine, engine.execution_options(lumos_write=True), connections)


def _refuse_if_closed(connection: Any, _record: object, _proxy: object) -> None:
    """A connection that the server has closed meanwhile is replaced by a new one, without a round trip to find out.

    Between transactions a server sends nothing, except that it closes the connection.
    """
    if connection.closed or _has_something_to_read(connection):
        raise DisconnectionError("the server has closed the connection")


def _has_something_to_read(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def clock(connection: Connection) -> float:
    """Seconds since 1970 by the database's clock."""
    return float(connection.execute(now().select()).scalar_one())
