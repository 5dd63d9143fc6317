"""Write a request as JSON, and read it back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from lumos_queue.errors import SpecError, unknown
from lumos_queue.submission.requests.checks import check_value, normalize, require_options, spell_errors
from lumos_queue.submission.requests.option import Entrance, list_options
from lumos_queue.util.runtime_types import has_type, is_sequence

VERSION = 1  #: of the document
R = TypeVar("R")


def to_json(request: object) -> dict[str, Any]:
    """Return the declared fields of a request as a JSON object, with the version of the document.

    Paths are texts, and sequences are lists.
    """
    document: dict[str, Any] = {"version": VERSION}
    for option in list_options(type(request)):
        value = getattr(request, option.field)
        if isinstance(value, Path):
            value = str(value)
        document[option.field] = list(value) if is_sequence(value) else value
    return document


def from_json(request_class: type[R], document: Mapping[str, Any], entrance: Entrance = Entrance.FORM) -> R:
    """Return the request that a JSON object describes. A field that is left out has its default.

    Raises SpecError for another version, an unknown or a missing field, and a value of the wrong type or out of its
    range. `entrance` chooses the spelling of fields in errors.
    """
    if not has_type(document, Mapping):
        raise SpecError(f"A request is {document!r:.80}: expected an object with the field version.")
    version: object = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise SpecError(f"version is {version!r:.80}: expected {VERSION}.")
    options = {option.field: option for option in list_options(request_class)}
    values: dict[str, Any] = {}
    with spell_errors(request_class, entrance):
        require_options(request_class, document)
        for name, value in document.items():
            if name == "version":
                continue
            if name not in options:
                raise unknown("field of a request", str(name)[:80], options)
            check_value(options[name], value)
            values[name] = normalize(options[name], value)
    return request_class(**values)
