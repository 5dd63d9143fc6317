"""Open the database: an engine for reading, and a writer whose transactions begin as write transactions."""

from __future__ import annotations

import select
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import Float

from db.engine.failures import EnginePool, translate_failures
from db.engine.json_columns import read_json
from db.engine.pooler import check_sessions, is_from_pooler, set_when_connected
from db.engine.server_connections import ServerConnections, SocketConnection
from db.engine.server_needs import check_server, has_settings
from db.engine.sqlite import open_sqlite, park
from lumos_queue.errors import DatabaseFailure, DatabaseUnavailable, InfrastructureError, SpecError
from lumos_queue.util.secret_urls import hide_secrets, quotes_secret

#: How soon the kernel notices an unreachable server: in seconds, `tcp_user_timeout` in milliseconds. The database's URL
#: may set other values.
_TCP_OPTIONS = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


POOL_SECONDS = 30.0  #: that a thread waits for a connection while all of them are in use


class now(FunctionElement[float]):
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


class numbers(FunctionElement[int]):
    """A list of whole numbers sent as one JSON text, for `column.op("IN")(numbers(bindparam(…)))`.

    A statement with a parameter for each number would depend on how many there are.
    """

    inherit_cache = True


@compiles(numbers, "postgresql")
def _numbers_postgresql(element: numbers, compiler: SQLCompiler, **options: object) -> str:
    parameter = compiler.process(element.clauses, **options)
    return f"(SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST({parameter} AS json)))"


@compiles(numbers, "sqlite")
def _numbers_sqlite(element: numbers, compiler: SQLCompiler, **options: object) -> str:
    return f"(SELECT value FROM json_each({compiler.process(element.clauses, **options)}))"


@dataclass(frozen=True, slots=True)
class Database:
    """An open database. `engine` is for reading; transactions of `writer` take SQLite's write lock when they begin."""

    url: str = field(repr=False)
    engine: Engine
    writer: Engine
    connections: ServerConnections | None = None  #: to a server; None for a file
    #: The engine of a file until `close`, which parks it once.
    opening: list[Engine] = field(default_factory=list[Engine], repr=False, compare=False)

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    def close(self) -> None:
        """Close all connections. Calling it again does nothing."""
        if not self.is_sqlite:
            self.engine.dispose()
        elif self.opening:
            park(self.opening.pop())


def open_database(url: str, idle_milliseconds: int = 10_000, pool_seconds: float = POOL_SECONDS) -> Database:
    """Open the database at `url`, without creating or migrating tables.

    Nothing is written, so that a read-only database can be opened. `idle_milliseconds`: a server ends transactions that
    are idle for so long, because they hold locks (`Lease`). A thread that waits for a connection longer than
    `pool_seconds` gets PoolTimeout. Raises SpecError when the URL, the driver, the file's path or the
    server's database cannot be used, and InfrastructureError when the server does not answer.
    """
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # a port that is no number
        raise SpecError(
            f"LUMOS_DATABASE_URL is {hide_secrets(url)}: expected sqlite:///FILE or "
            "postgresql://USER:PASSWORD@HOST:PORT/NAME. In a password, write %40 for @, %2F for / and %3A for :."
        ) from None
    try:
        if address.get_backend_name() == "sqlite":
            engine, connections = open_sqlite(address, pool_seconds), None
            with engine.connect():
                pass
        else:
            engine = _open_server(address, idle_milliseconds, pool_seconds)
            connections = ServerConnections(engine)
    except DatabaseFailure as error:
        if address.get_backend_name() == "sqlite" and not isinstance(error, DatabaseUnavailable):
            raise  # for example, the file is no database
        line = error.driver_message.splitlines()[-1]
        raise InfrastructureError(f"The database at {hide_secrets(url)} does not answer: {line}") from None
    engines = [] if connections else [engine]
    return Database(url, engine, engine.execution_options(lumos_write=True), connections, engines)


def _open_server(address: URL, idle_milliseconds: int, pool_seconds: float) -> Engine:
    """Return an engine whose connections have the required settings. Behind a pooler, they are set after connecting.

    Raises SpecError for a database that cannot be used, and DatabaseFailure when the server does not answer.
    """
    settings = {"idle_in_transaction_session_timeout": str(idle_milliseconds), "timezone": "UTC"}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    engine = _server_engine(address, pool_seconds, options=options)
    try:
        with engine.connect() as connection:
            if has_settings(connection, idle_milliseconds):
                check_server(connection, idle_milliseconds)
                return engine
    except DatabaseFailure as error:
        if not is_from_pooler(error):
            raise
    engine.dispose()
    _check_pooler(address)
    engine = _server_engine(address, pool_seconds)
    set_when_connected(engine, settings)
    with engine.connect() as connection:
        check_server(connection, idle_milliseconds)
    return engine


def _check_pooler(address: URL) -> None:
    engine = _server_engine(address, POOL_SECONDS, prepare_threshold=None)
    try:
        check_sessions(engine, hide_secrets(address.render_as_string(hide_password=False)))
    finally:
        engine.dispose()


def _server_engine(address: URL, pool_seconds: float, **driver_options: str | None) -> Engine:
    options_unset = {name: value for name, value in _TCP_OPTIONS.items() if name not in address.query}
    connect_args = options_unset | driver_options
    engine = create_engine(
        address,
        poolclass=EnginePool,
        pool_size=4,
        pool_timeout=pool_seconds,
        connect_args=connect_args,
        json_deserializer=read_json,
    )
    translate_failures(engine)
    event.listen(engine, "do_connect", partial(_connect, address.render_as_string(hide_password=False)))
    event.listen(engine, "checkout", _refuse_if_closed)
    return engine


def _connect(
    url: str, dialect: Dialect, _record: object, arguments: Sequence[object], options: Mapping[str, object]
) -> DBAPIConnection:
    """Return the driver's connection. Errors, which appear in messages, logs and tracebacks, quote no password."""
    try:
        return dialect.connect(*arguments, **options)
    except Exception as error:  # the driver's own
        if not quotes_secret(str(error), url):
            raise
        kind = type(error).__name__
    assert dialect.loaded_dbapi
    raise dialect.loaded_dbapi.OperationalError(
        f"{kind}; the driver's message is hidden, as it quotes LUMOS_DATABASE_URL: check its user, password and options"
    )


def _refuse_if_closed(connection: SocketConnection, _record: object, _proxy: object) -> None:
    """Make SQLAlchemy replace a connection that the server has closed. This needs no round trip to the server.

    Between transactions a server sends nothing, unless it closes the connection.
    """
    if connection.closed or _has_something_to_read(connection):
        raise DisconnectionError("the server has closed the connection")


def _has_something_to_read(connection: SocketConnection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def clock(connection: Connection) -> float:
    """Seconds since 1970 by the database's clock."""
    return float(connection.execute(now().select()).scalar_one())
