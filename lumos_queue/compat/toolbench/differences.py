"""Compare two JSON values, and apply the changes that turn the first into the second.

A change is `[path, value]`, or `[path]` to remove a value; a path is a list of names and indexes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

Change = Sequence[Any]  #: [path, value] or [path]; JSON


def find_changes(source: Any, target: Any) -> list[list[Any]]:
    """Return the changes that turn `source` into `target`. They replace a list of another length as a whole."""
    changes: list[list[Any]] = []
    pending: list[tuple[list[str | int], Any, Any]] = [([], source, target)]
    while pending:
        path, left, right = pending.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            changes += [[[*path, name]] for name in left if name not in right]
            changes += [[[*path, name], value] for name, value in right.items() if name not in left]
            pending += [([*path, name], value, right[name]) for name, value in left.items() if name in right]
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pairs = enumerate(zip(left, right, strict=True))
            pending += [([*path, index], first, second) for index, (first, second) in pairs]
        elif type(left) is not type(right) or left != right:  # 1, 1.0 and true are different in a file
            changes.append([path, right])
    return changes


def make_changes(source: Any, changes: Iterable[Change]) -> Any:
    """Return a changed copy of `source`. Raises LookupError or TypeError if the changes are those of another value."""
    whole = {"": json.loads(json.dumps(source))}  # a copy by JSON: an object that occurs twice changes once only
    for path, *value in changes:
        *way, last = ("", *path)
        container: Any = whole
        for name in way:
            container = container[name]
        if value:
            container[last] = value[0]
        else:
            del container[last]
    return whole[""]
