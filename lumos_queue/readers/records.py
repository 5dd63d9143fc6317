"""The rows of a data file of any format: one function opens them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import json_rows
from lumos_queue.readers.rows import Row, first_character, table


def read_records(path: Path | None, what: str, fields: Sequence[str] = ()) -> Iterator[Row | BadRow]:
    """Yield the rows of a file, each with its number from 1, or why a row cannot be read.

    `what` names the file that is expected. `fields`: the first row must have at least one of them; (): any. Raises
    SpecError where the file as a whole cannot be read.
    """
    if first_character(path, what) in "[{":
        return json_rows(path, what, fields)
    return table(path, what, fields)
