"""The arguments of a function call, as models write them: JSON text to checked values, or one clear reason."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.functions import Function, Parameter
from lumos_queue.actions.tools.numbers import read_number
from lumos_queue.errors import ActionError
from lumos_queue.util.sanitize import storable, storable_json
from lumos_queue.util.untrusted_json import read_json

MAX_ARGUMENTS = 20_000  #: characters of a call's arguments
_VARIABLE = re.compile(r"#E[0-9]+\b")


def read_arguments(function: Function, text: str, variables: Mapping[str, Mapping[str, Any]] | None = None) -> dict:
    """The arguments: for equal requests equal, with sorted names, numbers as numbers, and what is required filled in.

    `variables`: what `#E1` in a text stands for. A required argument that is missing has its declared default, as in
    the functions that ToolBench generated; an optional one has none: what its document calls so is an example.
    Raises ActionError of kind 'invalid_arguments', which says what is wrong and what was expected.
    """
    given = storable_json(read_object(text))
    if variables:
        given = _filled_in(given, variables)
    return canonical(function, given)


def canonical(function: Function, given: Mapping[str, Any]) -> dict[str, Any]:
    """These arguments in the one form in which equal requests are equal. Raises ActionError as `read_arguments`."""
    by_name = {one.written: one for one in function.parameters} | {one.name: one for one in function.parameters}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in by_name:
            expected = _join_names([one.name for one in function.parameters]) or "none"
            raise _invalid(f"{function.name} has no argument '{name[:80]}'; its arguments: {expected}")
        if value is not None:
            found[by_name[name].name] = _check(by_name[name], value)
    for one in function.parameters:
        if one.required and one.default is not None and one.name not in found:
            found[one.name] = _default(one)
    if missing := [one.name for one in function.parameters if one.required and one.name not in found]:
        raise _invalid(f"{function.name} needs the argument {_join_names(missing)}")
    return dict(sorted(found.items()))


def read_object(text: str) -> dict[str, Any]:
    """The JSON object that a text is; an empty text is an empty one. Line breaks within strings are read.

    Raises ActionError of kind 'invalid_arguments'.
    """
    text = text.strip()
    if len(text) > MAX_ARGUMENTS:
        raise _invalid(f"arguments may have {MAX_ARGUMENTS:,} characters, these have {len(text):,}")
    try:
        found = read_json(text or "{}", strict=False)
    except ValueError as error:
        raise _invalid(f"the arguments are not JSON: {error}") from None
    if not isinstance(found, dict):
        raise _invalid('the arguments are not a JSON object; expected for example {"name": "value"}')
    return found


def _filled_in(value: Any, variables: Mapping[str, Mapping[str, Any]]) -> Any:
    """The value with each variable that is set replaced in its texts. Raises ActionError where it becomes too long."""
    left = MAX_ARGUMENTS

    def text_of(match: re.Match[str]) -> str:
        nonlocal left
        known = variables.get(match[0])
        text = match[0] if known is None else str(known.get("text", ""))
        left -= len(text)
        if left < 0:
            raise _invalid(f"the arguments have more than {MAX_ARGUMENTS:,} characters with their variables filled in")
        return text

    def walk(part: Any) -> Any:
        if isinstance(part, str):
            return _VARIABLE.sub(text_of, part)
        if isinstance(part, dict):
            return {name: walk(one) for name, one in part.items()}
        return [walk(one) for one in part] if isinstance(part, list) else part

    return walk(value)


def _check(parameter: Parameter, value: Any) -> Any:
    if parameter.type == "number":
        found = read_number(value)
    elif parameter.type == "boolean":
        found = {"true": True, "false": False}.get(str(value).strip().lower()) if _is_scalar(value) else None
    elif parameter.structured and not isinstance(value, str):
        found = value
    else:
        found = _text(value)
    if found is None:
        shown = json.dumps(value, ensure_ascii=False)[:80]
        raise _invalid(f"the argument '{parameter.name}' must be a {parameter.type}, not {shown}")
    if parameter.choices and found not in parameter.choices:
        raise _invalid(f"the argument '{parameter.name}' must be one of {_join_names(parameter.choices)}")
    return found


def _default(parameter: Parameter) -> Any:
    """The default as the value that it stands for; as it is written where it is not of the declared type."""
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
