"""Read the arguments of a function call: a model's JSON text becomes checked values, or an error with one reason."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.functions import Function, Parameter
from lumos_queue.actions.tools.numbers import read_number
from lumos_queue.actions.tools.references import References, as_text, is_reference
from lumos_queue.errors import ActionError
from lumos_queue.util.sanitize import storable, storable_json
from lumos_queue.util.untrusted_json import read_json

MAX_ARGUMENTS = 20_000  #: characters of a call's arguments


def read_arguments(function: Function, text: str, variables: Mapping[str, Mapping[str, Any]] | None = None) -> dict:
    """Return the arguments in canonical form, in which equal requests have equal arguments.

    `variables`: the values of references like `#E1` (references.py); if None, a text is never a reference. A missing
    required argument gets its declared default, as in the functions that ToolBench generated. A missing optional
    argument stays missing, because the default in its document is only an example.
    Raises ActionError of kind 'invalid_arguments' with the problem and the expectation.
    """
    arguments = storable_json(read_object(text))
    if variables is not None:
        arguments = _fill_in(function, arguments, variables)
    return canonical(function, arguments)


def canonical(function: Function, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked arguments in the form in which equal requests are equal: sorted names, numbers as numbers.

    Raises ActionError of kind 'invalid_arguments'.
    """
    by_name = {parameter.written: parameter for parameter in function.parameters} | {
        parameter.name: parameter for parameter in function.parameters
    }
    checked_arguments: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in by_name:
            names = _join_names([parameter.name for parameter in function.parameters]) or "none"
            raise _invalid(f"{function.name} has no argument '{name[:80]}'; its arguments: {names}")
        if value is not None:
            checked_arguments[by_name[name].name] = _check(by_name[name], value)
    for parameter in function.parameters:
        if parameter.required and parameter.default is not None and parameter.name not in checked_arguments:
            checked_arguments[parameter.name] = _default(parameter)
    if missing_names := [
        parameter.name
        for parameter in function.parameters
        if parameter.required and parameter.name not in checked_arguments
    ]:
        raise _invalid(f"{function.name} needs the argument {_join_names(missing_names)}")
    return dict(sorted(checked_arguments.items()))


def read_object(text: str) -> dict[str, Any]:
    """Read a JSON object; an empty text is an empty object. Line breaks within strings are allowed.

    Raises ActionError of kind 'invalid_arguments'.
    """
    text = text.strip()
    if len(text) > MAX_ARGUMENTS:
        raise _invalid(f"arguments may have {MAX_ARGUMENTS:,} characters, these have {len(text):,}")
    try:
        document = read_json(text or "{}", strict=False)
    except ValueError as error:
        raise _invalid(f"the arguments are not JSON: {error}") from None
    if not isinstance(document, dict):
        raise _invalid('the arguments are not a JSON object; expected for example {"name": "value"}')
    return document


def _fill_in(
    function: Function, arguments: Mapping[str, Any], variables: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the arguments with references replaced by values. In a string argument, a list becomes its JSON text."""
    references = References(variables)
    texts = [parameter for parameter in function.parameters if parameter.type == "string" and not parameter.structured]
    names = {name for parameter in texts for name in (parameter.name, parameter.written)}
    filled_arguments = {name: references.fill_in(value) for name, value in arguments.items()}
    return {
        name: as_text(value)
        if isinstance(value, (dict, list)) and name in names and is_reference(arguments[name])
        else value
        for name, value in filled_arguments.items()
    }


def _check(parameter: Parameter, value: Any) -> Any:
    if parameter.type == "number":
        checked_value = read_number(value)
    elif parameter.type == "boolean":
        checked_value = {"true": True, "false": False}.get(str(value).strip().lower()) if _is_scalar(value) else None
    elif parameter.structured and not isinstance(value, str):
        checked_value = value
    else:
        checked_value = _text(value)
    if checked_value is None:
        preview = json.dumps(value, ensure_ascii=False)[:80]
        raise _invalid(f"the argument '{parameter.name}' must be a {parameter.type}, not {preview}")
    if parameter.choices and checked_value not in parameter.choices:
        raise _invalid(f"the argument '{parameter.name}' must be one of {_join_names(parameter.choices)}")
    return checked_value


def _default(parameter: Parameter) -> Any:
    """Return the parameter's default as a value of the declared type; unchanged if it has another type."""
    try:
        return _check(parameter, parameter.default)
    except ActionError:
        return parameter.default


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return json.dumps(value) if _is_scalar(value) else None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool))


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:20]) + (", …" if len(names) > 20 else "")


def _invalid(message: str) -> ActionError:
    return ActionError("invalid_arguments", storable(message)[0])
