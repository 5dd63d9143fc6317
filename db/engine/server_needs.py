"""Check that a PostgreSQL database meets the requirements, before anything is stored in it."""

from __future__ import annotations

from sqlalchemy import Connection, text

from lumos_queue.errors import SpecError

_NEEDS = text(
    "SELECT current_database() AS name, current_setting('server_encoding') AS encoding, "
    "current_setting('idle_in_transaction_session_timeout') AS patience"
)
_MAY_CREATE = text(
    "SELECT current_user AS role, current_database() AS name, coalesce(current_schema(), 'public') AS schema, "
    "coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS allowed"
)


def check_server(connection: Connection, idle_milliseconds: int) -> None:
    """Raise SpecError unless the database stores all texts and keeps the settings of a connection.

    `idle_milliseconds`: the value to which `idle_in_transaction_session_timeout` was set.
    """
    row = connection.execute(_NEEDS).one()
    if row.encoding != "UTF8":
        raise SpecError(
            f"The database '{row.name}' has the encoding {row.encoding}, expected UTF8: create another with "
            "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and name it in LUMOS_DATABASE_URL."
        )
    if _milliseconds(row.patience) != idle_milliseconds:
        raise SpecError(
            f"The database '{row.name}' loses a connection's settings (idle_in_transaction_session_timeout is "
            f"{row.patience}, expected {idle_milliseconds}ms), as some poolers do: write the address of PostgreSQL "
            "itself into LUMOS_DATABASE_URL."
        )


def has_settings(connection: Connection, idle_milliseconds: int) -> bool:
    """Whether the settings that the connection was opened with have reached the server."""
    return _milliseconds(connection.execute(_NEEDS).one().patience) == idle_milliseconds


def check_may_create(connection: Connection) -> None:
    """Raise SpecError unless the role may create tables. PostgreSQL 15 and later allow this to the owner only."""
    row = connection.execute(_MAY_CREATE).one()
    if not row.allowed:
        raise SpecError(
            f"The role '{row.role}' has no right to create tables in the schema '{row.schema}' of the database "
            f"'{row.name}': have its owner run GRANT CREATE ON SCHEMA {row.schema} TO {row.role}."
        )


def _milliseconds(setting: str) -> int:
    """Read a time as PostgreSQL writes it: a number with the largest unit that divides it."""
    units = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
    digits = setting.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits) * units.get(setting[len(digits) :], 1)
