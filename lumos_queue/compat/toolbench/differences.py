"""What one JSON value has otherwise than another, as changes that make the other of it.

A change is `[path, value]`, or `[path]` where the value is to be left out; a path is a list of names and places.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

Change = Sequence[Any]  #: [path, value] or [path]; JSON


def find_changes(made: Any, wanted: Any) -> list[list[Any]]:
    """The changes that make `wanted` of `made`. Lists of other lengths, and values of other types, are named whole."""
    found: list[list[Any]] = []
    waiting: list[tuple[list[str | int], Any, Any]] = [([], made, wanted)]
    while waiting:
        path, one, other = waiting.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            found += [[[*path, name]] for name in one if name not in other]
            found += [[[*path, name], value] for name, value in other.items() if name not in one]
            waiting += [([*path, name], value, other[name]) for name, value in one.items() if name in other]
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            pairs = enumerate(zip(one, other, strict=True))
            waiting += [([*path, place], first, second) for place, (first, second) in pairs]
        elif type(one) is not type(other) or one != other:  # 1, 1.0 and true are different in a file
            found.append([path, other])
    return found


def make_changes(made: Any, changes: Iterable[Change]) -> Any:
    """A copy with the changes made. Raises LookupError and TypeError for changes of another value."""
    whole = {"": json.loads(json.dumps(made))}  # as JSON: a part that occurs twice is changed where it is named alone
    for path, *value in changes:
        *way, last = ("", *path)
        place: Any = whole
        for name in way:
            place = place[name]
        if value:
            place[last] = value[0]
        else:
            del place[last]
    return whole[""]
