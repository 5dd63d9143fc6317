"""Read requests from the arguments of a program, the table of a sweep, or the texts of a form."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from lumos_queue.errors import unknown
from lumos_queue.submission.requests.checks import (
    check_request,
    check_value,
    normalize,
    require_options,
    spell,
    spell_errors,
)
from lumos_queue.submission.requests.option import DeclaredOption, Entrance, Value, list_options

R = TypeVar("R")
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e[+-]?[0-9]{1,3})?|[+-]?inf|nan", re.IGNORECASE)


def make_request(request_class: type[R], values: Mapping[str, Any], entrance: Entrance) -> R:
    """Return the checked request of values by field. Paths may be texts, and tuples lists.

    Raises SpecError, in the spelling of the entrance, for a field that it does not offer, for a missing field and for a
    wrong value.
    """
    options = {option.field: option for option in list_options(request_class, entrance)}
    for name in values:
        if name not in options:
            raise unknown("option", str(name), options)
    with spell_errors(request_class, entrance):
        require_options(request_class, values)
        request = request_class(**{name: normalize(options[name], value) for name, value in values.items()})
        check_request(request)
    return request


def read_table(request_class: type[R], table: Mapping[str, Any], values: Mapping[str, Any]) -> R:
    """Return the checked request of a sweep's table, whose keys are flags with underscores.

    `values`: other fields, and other defaults. Raises SpecError for an unknown key and for a wrong value.
    """
    options = {spell(option, Entrance.SWEEP): option for option in list_options(request_class, Entrance.SWEEP)}
    for key in table:
        if key not in options:
            raise unknown("option", str(key), options)
    own_values = {options[key].field: normalize(options[key], value) for key, value in table.items()}
    request = request_class(**{**values, **own_values})
    with spell_errors(request_class, Entrance.SWEEP):
        check_request(request)
    return request


def read_texts(request_class: type[R], texts: Mapping[str, str], values: Mapping[str, Any]) -> R:
    """Return the request of a form's texts by field. `values`: fields without a text.

    Raises SpecError for a value of a wrong type or out of its range.
    """
    options = {option.field: option for option in list_options(request_class, Entrance.FORM)}
    return request_class(**{name: _read_text(options[name], text) for name, text in texts.items()}, **values)


def _read_text(option: DeclaredOption, text: str) -> Value:
    """Return the value of a field that a text of a form means: an empty text the default, and of a tick 'true' True.

    Raises SpecError.
    """
    if option.kind is bool:
        return text == "true"
    value = normalize(option, read_number(text)) if option.kind in (int, float) else normalize(option, text)
    value = value if text else option.default
    check_value(option, value)
    return value


def read_number(text: str) -> int | float | str:
    """Return the number that a text is; the text if it is none."""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
