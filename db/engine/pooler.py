"""Accept a connection pooler in front of PostgreSQL, such as pgbouncer, if each session keeps its server connection.

pgbouncer drops the settings with which a connection is opened. With pool_mode = session, each session has its own
connection to the server, so the settings are set again after connecting. With pool_mode = transaction, the session
would lose them, and other clients would get them.
"""

from __future__ import annotations

from contextlib import closing

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine.interfaces import DBAPIConnection

from lumos_queue.errors import DatabaseFailure, SpecError

ROUNDS = 5  #: in one round, other clients of a busy pooler may hide that it changes connections
_PROCESS = text("SELECT pg_backend_pid()")
#: pgbouncer's messages about the settings of a new connection, and about a transaction in statement mode.
_REFUSALS = ("unsupported startup parameter", "in statement pooling mode")


def is_from_pooler(error: DatabaseFailure) -> bool:
    """Whether the error shows a pooler: it refuses settings that PostgreSQL itself accepts."""
    return any(refusal in error.driver_message for refusal in _REFUSALS)


def check_sessions(engine: Engine, address: str) -> None:
    """Raise SpecError unless each session keeps its connection to the server. No setting is changed.

    The driver of `engine` must prepare no statements, because a pooler may send them to different servers.
    """
    try:
        is_kept = _keeps_sessions(engine)
    except DatabaseFailure as error:
        if not is_from_pooler(error):
            raise
        is_kept = False
    if not is_kept:
        raise SpecError(
            f"The database at {address} is behind a pooler that changes the connection between transactions, as "
            "pgbouncer does with pool_mode = transaction, expected pool_mode = session: set it there, or write the "
            "address of PostgreSQL itself into LUMOS_DATABASE_URL."
        )


def _keeps_sessions(engine: Engine) -> bool:
    """Whether two sessions reach two different server processes, and always the same ones.

    A pooler that changes connections gives the second session the connection that the first has just used, or gives
    the first session several connections in turn.
    """
    first_processes: set[int] = set()
    second_processes: set[int] = set()
    with engine.connect() as first, engine.connect() as second:
        for _ in range(ROUNDS):
            first_processes |= {_process_of_transaction(first), _process_of_transaction(first)}
            with second.begin():
                second_processes.add(_read_process(second))
                first_processes.add(_process_of_transaction(first))
    return len(first_processes) == len(second_processes) == 1 and first_processes != second_processes


def _process_of_transaction(connection: Connection) -> int:
    """Return the id of the server process that runs a new transaction."""
    with connection.begin():
        return _read_process(connection)


def _read_process(connection: Connection) -> int:
    return connection.execute(_PROCESS).scalar_one()


def set_when_connected(engine: Engine, settings: dict[str, str]) -> None:
    """Set these settings of the server in each new connection."""

    def set_all(connection: DBAPIConnection, _record: object) -> None:
        with closing(connection.cursor()) as cursor:
            for name, value in settings.items():
                cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
        connection.commit()

    event.listen(engine, "connect", set_all)
