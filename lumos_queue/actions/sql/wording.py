"""Distinguish statements from fragments, which are only echoed. This module neither runs nor parses statements."""

from __future__ import annotations

import re

#: The first words of statements that a model may run on any database.
READING = frozenset(("SELECT", "WITH", "VALUES", "SHOW", "DESC", "DESCRIBE", "EXPLAIN"))
#: Other first words of statements: they are answered with an error instead of an echo.
_OTHERS = """
ALTER ANALYZE ATTACH BEGIN CALL COMMIT CREATE DELETE DETACH DO DROP EXECUTE FLUSH GRANT HANDLER INSERT INSTALL KILL
LOAD LOCK OPTIMIZE PRAGMA PREPARE PURGE REINDEX RELEASE RENAME RESET REVOKE ROLLBACK SAVEPOINT SET SHUTDOWN START
TABLE TRUNCATE UNINSTALL UNLOCK UPDATE USE VACUUM
"""
OTHERS = frozenset(_OTHERS.split())
_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)(\s*\()?")
_COMMENT = re.compile(r"\s*(?:/\*|--|#)")


def is_statement(text: str) -> bool:
    """Return whether the text is a statement. Fragments such as `WHERE age > 30` are parts of a later statement.

    A text that begins with a comment counts as a statement, because the parser reads what follows the comment.
    """
    if _COMMENT.match(text):
        return True
    first = _FIRST_WORD.match(text)
    if first is None:
        return False
    word = first[1].upper()
    if word == "REPLACE":  # a function, unless no parenthesis follows
        return first[2] is None
    return word in READING or (word in OTHERS and first[2] is None)
