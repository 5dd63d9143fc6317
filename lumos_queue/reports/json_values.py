"""The JSON of report values: an object for each dataclass, with its fields in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_PLACEMENT = "json"
#: Metadata of a field whose key is left out of the JSON if its value is None.
OPTIONAL = {_PLACEMENT: "left out if None"}
#: Metadata of a field without a key in the JSON.
HIDDEN = {_PLACEMENT: "hidden"}
#: Metadata of a field whose own fields become keys of the object around it. None adds no key.
MERGED = {_PLACEMENT: "merged"}
_KEY = "json key"


def write_as(key: str) -> dict[str, str]:
    """Return the metadata of a field whose key in the JSON is a reserved word of Python."""
    return {_KEY: key}


def as_json(value: Any) -> Any:
    """Return a report value as JSON: dataclasses and mappings become objects, and other sequences become lists."""
    if is_dataclass(value):
        members: dict[str, Any] = {}
        for member in fields(value):
            content, placement = getattr(value, member.name), member.metadata.get(_PLACEMENT)
            if placement == HIDDEN[_PLACEMENT] or (content is None and placement):
                continue
            if placement == MERGED[_PLACEMENT]:
                members |= as_json(content)
            else:
                members[member.metadata.get(_KEY, member.name)] = as_json(content)
        return members
    if isinstance(value, Mapping):
        return {key: as_json(content) for key, content in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_json(content) for content in value]
    return value
