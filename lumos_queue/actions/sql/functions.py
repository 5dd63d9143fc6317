"""The functions that a query may call: harmless functions of SQLite, and some of MySQL that SQLite lacks.

No function reads a file, waits, loads code or is random. SQLite's limit of a text bounds what they return.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import Any

from lumos_queue.actions.sql.dates import date_format, from_unixtime, str_to_date
from lumos_queue.actions.sql.numbers import number_of

#: Of SQLite itself, with the functions of dates, although these can return the current day.
_BUILT_IN = """
abs acos asin atan atan2 avg ceil ceiling char coalesce cos count cume_dist current_date current_time
current_timestamp date datetime degrees dense_rank exp first_value floor glob group_concat hex ifnull iif instr
julianday lag last_value lead length like ln log log10 log2 lower ltrim max min mod nth_value ntile nullif
percent_rank pi pow power quote radians rank replace round row_number rtrim sign sin sqrt strftime substr substring
sum tan time total trim trunc typeof unicode unixepoch upper
"""
BUILT_IN = frozenset(_BUILT_IN.split())


def _part_of_date(start: int, end: int) -> Callable[[Any], int | None]:
    """Return a function that reads a slice of `2014-05-31` as a number."""

    def part(value: Any) -> int | None:
        text = str(value or "")
        return int(text[start:end]) if re.fullmatch(r"\d{4}-\d\d-\d\d.*", text, re.DOTALL) else None

    return part


def _regexp(pattern: Any, text: Any) -> bool | None:
    """Return the value of `text REGEXP pattern`, ignoring case as MySQL's collations do."""
    if pattern is None or text is None:
        return None
    return re.search(str(pattern), str(text), re.IGNORECASE) is not None


def _substring_index(text: Any, mark: Any, count: Any) -> str | None:
    """Return the text before the count-th mark; for a negative count, the text after that mark from the end."""
    if text is None or mark is None or count is None:
        return None
    parts, number = str(text).split(str(mark)) if mark else [""], int(count)
    return str(mark).join(parts[:number] if number >= 0 else parts[number:])


def _left(text: Any, count: Any) -> str | None:
    return None if text is None or count is None else str(text)[: max(0, int(count))]


def _right(text: Any, count: Any) -> str | None:
    if text is None or count is None:
        return None
    return str(text)[-int(count) :] if int(count) > 0 else ""


def _concat_ws(mark: Any, *texts: Any) -> str | None:
    return None if mark is None else str(mark).join(str(text) for text in texts if text is not None)


def _field(target: Any, *choices: Any) -> int:
    """Return the position of `target` among the choices, from 1; 0 if it is not among them."""
    return next((position for position, choice in enumerate(choices, 1) if choice is not None and choice == target), 0)


#: Functions of MySQL by name: the number of arguments (-1: any) and the function.
ADDED: dict[str, tuple[int, Callable[..., Any]]] = {
    "left_of": (2, _left),
    "right_of": (2, _right),
    "year": (1, _part_of_date(0, 4)),
    "month": (1, _part_of_date(5, 7)),
    "day": (1, _part_of_date(8, 10)),
    "regexp": (2, _regexp),
    "substring_index": (3, _substring_index),
    "concat_ws": (-1, _concat_ws),
    "field": (-1, _field),
    "number_of": (1, number_of),
    "str_to_date": (2, str_to_date),
    "date_format": (2, date_format),
    "from_unixtime": (-1, from_unixtime),
}
OFFERED = BUILT_IN | ADDED.keys()
#: Functions that SQLite itself calls when tables change; the parser refuses them in statements.
_INTERNAL = """
printf sqlite_drop_column sqlite_rename_column sqlite_rename_quotefix sqlite_rename_table sqlite_rename_test
"""
INTERNAL = frozenset(_INTERNAL.split())
#: Functions that may return the current time. Statements that write must not use them.
_CLOCKS = """
current_date current_time current_timestamp date datetime julianday strftime time unixepoch
"""
CLOCKS = frozenset(_CLOCKS.split())


def add_functions(connection: sqlite3.Connection) -> None:
    for name, (count, function) in ADDED.items():
        connection.create_function(name, count, function, deterministic=True)
