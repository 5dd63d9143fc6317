"""Which texts are statements, and which are fragments that are only echoed. Nothing here runs or parses anything."""

from __future__ import annotations

import re

#: What a model may run on any database.
READING = frozenset(("SELECT", "WITH", "VALUES", "SHOW", "DESC", "DESCRIBE", "EXPLAIN"))
#: What else begins a statement, so that it is answered with an error instead of an echo.
_OTHERS = """
ALTER ANALYZE ATTACH BEGIN CALL COMMIT CREATE DELETE DETACH DO DROP EXECUTE FLUSH GRANT HANDLER INSERT INSTALL KILL
LOAD LOCK OPTIMIZE PRAGMA PREPARE PURGE REINDEX RELEASE RENAME RESET REVOKE ROLLBACK SAVEPOINT SET SHUTDOWN START
TABLE TRUNCATE UNINSTALL UNLOCK UPDATE USE VACUUM
"""
OTHERS = frozenset(_OTHERS.split())
_FIRST_WORD = re.compile(r"[\s(]*([A-Za-z]+)(\s*\()?")
_COMMENT = re.compile(r"\s*(?:/\*|--|#)")


def is_statement(text: str) -> bool:
    """Whether the text is to be run. `name FROM singer` and `WHERE age > 30` are not: they are parts of a later one.

    A text that begins with a comment is: what the comment hides is for the parser to find out.
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
