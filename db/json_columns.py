"""Columns of JSON, read without an exception: it would fail all rows of a query for one of them."""

from __future__ import annotations

import json
from typing import Any


class UnreadableJson:
    """What is read where the database has no JSON. Code that expects a value fails on it, for its row alone."""

    def __init__(self, problem: str):
        self.problem = problem


def read_json(text: Any) -> Any:
    """The value of a column of JSON, or UnreadableJson: an exception here would fail all rows of a query."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        return UnreadableJson("nested too deeply" if isinstance(error, RecursionError) else "not JSON")
