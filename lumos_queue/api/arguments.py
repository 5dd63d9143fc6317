"""Read the arguments of a call into a request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from lumos_queue.errors import SpecError
from lumos_queue.submission.requests.option import DeclaredOption, Entrance, list_options

R = TypeVar("R")


def read_arguments(request_class: type[R], arguments: Mapping[str, Any], **values: Any) -> R:
    """Return the request with the arguments of a call by field, unchecked, and with `values` of other fields.

    Raises SpecError where a mapping is expected.
    """
    options = {option.field: option for option in list_options(request_class, Entrance.PYTHON)}
    fields = {name: _read(options[name], value) for name, value in arguments.items()}
    return request_class(**fields, **values)


def _read(option: DeclaredOption, value: Any) -> Any:
    """Return an argument in the type of its field; a value of a wrong type is returned as it is."""
    if option.option.pairs:
        return tuple(read_pairs(option, value))
    if isinstance(value, str | Path) and option.kind in (Path, str):
        return option.kind(value) if value != "" or option.kind is str else option.default
    if option.kind is tuple and isinstance(value, str):
        return (value,)
    return tuple(value) if option.kind is tuple and isinstance(value, list) else value


def read_pairs(option: DeclaredOption, values: Any) -> list[str]:
    """Return a mapping as texts NAME=VALUE, as on the command line. Raises SpecError for a value without a mapping."""
    if option.option.pairs == "json":
        from lumos_queue.submission.request_options import write_fields

        return write_fields({"": check_mapping(option.field, values)})
    return pairs(option.field, values)


def pairs(argument: str, values: Mapping[str, Any] | None) -> list[str]:
    """Return the values as texts NAME=VALUE, as on the command line. `argument` is their name in messages."""
    return [f"{name}={value}" for name, value in check_mapping(argument, values).items()]


def check_mapping(argument: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values as a dictionary; {} for None. Raises SpecError for a value that is not a mapping."""
    if values is not None and not isinstance(values, Mapping):
        raise SpecError(f"{argument}= is {values!r:.80}: expected a mapping of names to values, such as a dict.")
    return dict(values or {})
