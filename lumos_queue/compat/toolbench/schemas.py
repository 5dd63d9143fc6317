"""Convert function schemas of answer files to API entries of a task, with the same names.

A file has no fields for category, tool and API: tool and API are read from the function's name, `API_for_TOOL`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lumos_queue.actions.tools.function_names import FINISH_NAME
from lumos_queue.actions.tools.functions import functions_of

_DESCRIPTION = re.compile(r"The description of this function is: ?\"")
_TYPES = {"number": "NUMBER", "integer": "NUMBER", "boolean": "BOOLEAN"}


def entries_of(schemas: Iterable[Any]) -> list[dict[str, Any]]:
    """Return an API entry for each schema except that of Finish. Values that are no schemas are skipped."""
    valid_schemas = [
        schema for schema in schemas if isinstance(schema, Mapping) and isinstance(schema.get("name"), str)
    ]
    return [_entry(schema) for schema in valid_schemas if schema["name"] != FINISH_NAME]


def find_differing_names(schemas: Iterable[Any]) -> list[str]:
    """Return the names that would change when the schemas become functions of a task; normally there are none."""
    entries = entries_of(schemas)
    function_names = {function.name for function in functions_of(entries)}
    return [name for api in entries if (name := api["function_name"]) not in function_names]


def _entry(schema: Mapping[str, Any]) -> dict[str, Any]:
    name, description = schema["name"], schema.get("description")
    api, _, tool = name.rpartition("_for_")
    parameters = schema.get("parameters")
    required_parameters, optional_parameters = _parameters(parameters if isinstance(parameters, Mapping) else {})
    return {
        "function_name": name,
        "category_name": "",
        "tool_name": tool if api else "",
        "api_name": api or name,
        "api_description": _read_description(description) if isinstance(description, str) else "",
        "required_parameters": required_parameters,
        "optional_parameters": optional_parameters,
    }


def _read_description(text: str) -> str:
    """Return the API's description, which is quoted at the end of a function's; "" for a text of another form."""
    text = text.rstrip()
    begin = _DESCRIPTION.search(text)
    quotation = text[begin.end() :] if begin else ""
    return quotation[:-1] if quotation.endswith('"') else ""


def _parameters(schema: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the required and the optional parameters as two lists."""
    properties, requirement = schema.get("properties"), schema.get("required")
    required_names = [name for name in requirement if isinstance(name, str)] if isinstance(requirement, list) else []
    both: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for name, parameter in properties.items() if isinstance(properties, Mapping) else ():
        if isinstance(parameter, Mapping):
            both[name not in required_names].append(_parameter(name, parameter))
    return both


def _parameter(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    description, default = schema.get("description"), schema.get("example_value", "")
    return {
        "name": name,
        "type": _TYPES.get(str(schema.get("type")), "STRING"),
        "description": description if isinstance(description, str) else "",
        "default": default if isinstance(default, str) else json.dumps(default),
    }
