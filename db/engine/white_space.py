"""White space of texts, which does not count when texts are compared, in Python and in both databases."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, SQLColumnExpression, func

SQLITE_FUNCTION = "without_space"  #: the name of `remove_space` in statements of SQLite (db/engine/sqlite.py)
#: Every character at which `str.split` divides a text.
WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def remove_space(text: str | None) -> str | None:
    """Return the text without white space; None for None."""
    return None if text is None else "".join(text.split())


def without_space(connection: Connection, column: SQLColumnExpression[str]) -> ColumnElement[str]:
    """Return the SQL expression of a text column without white space."""
    if connection.dialect.name == "postgresql":
        return func.translate(column, WHITE_SPACE, "")
    return getattr(func, SQLITE_FUNCTION)(column)
