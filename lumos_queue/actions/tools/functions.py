"""The functions that an agent may call, made from ToolBench's documents of APIs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lumos_queue.actions.tools.function_names import FINISH_NAME, safe_name, unique_names
from lumos_queue.actions.tools.numbers import MAX_DIGITS, read_number
from lumos_queue.commands import FunctionSchema
from lumos_queue.util.sanitize import storable, storable_json

MAX_DESCRIPTION = 256  #: characters of the description of an API, and of an argument
MAX_TOOL_NAME = 80  #: characters of a tool's name in a description
MAX_TOOL_DESCRIPTION = 512  #: characters of the description of a tool
MAX_PARAMETERS = 256  #: of one function; the published APIs have at most some dozens
MAX_DEFAULT = 1_000  #: characters of a default value
_TYPES = {"NUMBER": "number", "BOOLEAN": "boolean"}
_TEXTS = ("STRING", "ENUM")  #: declared types whose values are texts, beside dates; others may be lists and objects
_NAME = re.compile("[A-Za-z0-9_\u4e00-\u9fa5.-]{1,64}")  #: of a function whose entry has a name for it
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a function."""

    name: str  #: as models write it
    written: str  #: as the document writes it
    type: str = "string"  #: 'number', 'boolean' or 'string'
    structured: bool = False  #: whether a list or an object is a value too
    description: str = ""
    default: Scalar = None  #: an example where the argument is optional; None: none is declared
    required: bool = False
    choices: tuple[str, ...] = ()  #: the only allowed values; (): any

    def schema(self, is_described: bool = True) -> dict[str, Any]:
        """Return the argument's entry for the `properties` of an OpenAI function.

        `is_described`: whether the entry has the argument's description; otherwise the description is ''.
        """
        description = self.description[:MAX_DESCRIPTION] if is_described else ""
        schema: dict[str, Any] = {"type": self.type, "description": description}
        if self.default is not None:
            schema["example_value"] = self.default
        if self.choices:
            schema["enum"] = list(self.choices)
        return schema

    def describe(self) -> str:
        """Return the argument on one line: `colisid: string, e.g. "CA1"`."""
        kind = " or ".join(json.dumps(choice) for choice in self.choices) or self.type
        example = "" if self.default is None else f", e.g. {json.dumps(self.default, ensure_ascii=False)}"
        return f"{self.name}: {kind}{example}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function and the API behind it."""

    name: str
    category: str  #: category, tool and api have the document's spelling
    tool: str
    api: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()  #: the required ones first
    template: Any = field(default=None, compare=False)  #: the shape of its answers (synthetic.py); None: not documented
    tool_description: str = ""  #: on one line

    def schema(self, is_described: bool = True) -> dict[str, Any]:
        """Return the function's schema in OpenAI's form, and as in ToolBench with a list `optional` of arguments.

        `is_described`: whether the arguments have their descriptions.
        """
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {parameter.name: parameter.schema(is_described) for parameter in self.parameters},
                "required": [parameter.name for parameter in self.parameters if parameter.required],
                "optional": [parameter.name for parameter in self.parameters if not parameter.required],
            },
        }

    def native_schema(self) -> FunctionSchema:
        """Return the function for servers with tool calls, without `optional`, which JSON Schema does not define."""
        parameters = {name: value for name, value in self.schema()["parameters"].items() if name != "optional"}
        return FunctionSchema(self.name, self.description, json.dumps(parameters, ensure_ascii=False))

    def describe(self, is_described: bool = False) -> str:
        """Return the function on one line, for prompts without native functions.

        `is_described`: whether a line with the description of each described argument follows, indented by two spaces.
        """
        arguments = [
            parameter.describe() if parameter.required else f"[{parameter.describe()}]" for parameter in self.parameters
        ]
        line = " ".join(f"{self.name}({'; '.join(arguments)}): {self.description}".split())
        described_parameters = [parameter for parameter in self.parameters if is_described and parameter.description]
        meanings = [
            f"  {parameter.name}: {parameter.description[:MAX_DESCRIPTION]}" for parameter in described_parameters
        ]
        return "\n".join([line, *meanings])

    def describe_tool(self) -> str:
        """Return the name of the function's tool and its description on one line; '' without a description."""
        return (
            f"{' '.join(self.tool[:MAX_TOOL_NAME].split())}: {self.tool_description}" if self.tool_description else ""
        )


FINISH = Function(
    FINISH_NAME,
    "",
    "",
    FINISH_NAME,
    "Call this function last, in every case: either to give the answer, which is the only thing the user is shown, or "
    "to give up this attempt because nothing more can be done with these functions.",
    (
        Parameter(
            "return_type",
            "return_type",
            description="Whether there is an answer.",
            required=True,
            choices=("give_answer", "give_up_and_restart"),
        ),
        Parameter(
            "final_answer",
            "final_answer",
            description="The whole answer, in words that need nothing else to be understood. Needed with give_answer.",
        ),
    ),
)


def functions_of(entries: Iterable[Any]) -> tuple[Function, ...]:
    """Return the functions of API entries, each API once, in their order. Values of another form are skipped.

    An entry has the fields "category_name", "tool_name", "api_name", "api_description", "required_parameters",
    "optional_parameters", "template_response" and "tool_description". Only "api_name" is required, and other fields are
    ignored. If an entry has a valid "function_name", the function has this name, because earlier prompts contain it.
    """
    apis = {_identity(entry): entry for entry in reversed([entry for entry in entries if _is_entry(entry)])}
    identities = list(reversed(apis))
    names = _choose_names(unique_names(identities), [apis[api].get("function_name") for api in identities])
    return tuple(_function(name, api, apis[api]) for name, api in zip(names, identities, strict=True))


def _choose_names(generated_names: Sequence[str], declared_names: Sequence[Any]) -> list[str]:
    """Return for each entry the declared name if it is valid and unique, else the generated name."""
    times = Counter([*generated_names, FINISH_NAME, *(name for name in declared_names if isinstance(name, str))])
    return [
        declared_name
        if isinstance(declared_name, str)
        and _NAME.fullmatch(declared_name)
        and times[declared_name] == 1 + (declared_name == generated_name)
        else generated_name
        for generated_name, declared_name in zip(generated_names, declared_names, strict=True)
    ]


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, Mapping) and isinstance(entry.get("api_name"), str)


def _identity(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    return _text(entry, "category_name"), _text(entry, "tool_name"), _text(entry, "api_name")


def _function(name: str, api: tuple[str, str, str], entry: Mapping[str, Any]) -> Function:
    summary = _text(entry, "api_description").strip()[:MAX_DESCRIPTION]
    description = f"A function of the tool '{api[1][:MAX_TOOL_NAME]}'. {summary}".strip()
    tool_description = " ".join(_text(entry, "tool_description").split())[:MAX_TOOL_DESCRIPTION].rstrip()
    return Function(name, *api, description, _parameters(entry), entry.get("template_response"), tool_description)


def _parameters(entry: Mapping[str, Any]) -> tuple[Parameter, ...]:
    parameters: dict[str, Parameter] = {}
    for key, is_required in (("required_parameters", True), ("optional_parameters", False)):
        nodes = entry.get(key)
        for node in nodes if isinstance(nodes, list) else ():
            if isinstance(node, Mapping) and len(parameters) < MAX_PARAMETERS:
                parameter = _parameter(node, is_required, parameters)
                parameters[parameter.name] = parameter
    return tuple(parameters.values())


def _parameter(node: Mapping[str, Any], is_required: bool, earlier_parameters: Mapping[str, Parameter]) -> Parameter:
    document_name = _text(node, "name")
    name = plain = safe_name(document_name) or "argument"
    number = 1
    while name in earlier_parameters:
        number += 1
        name = f"{plain}_{number}"
    declared_type = _text(node, "type").strip().upper()
    kind = _TYPES.get(declared_type, "string")
    is_structured = declared_type not in _TYPES and declared_type not in _TEXTS and not declared_type.startswith("DATE")
    description = " ".join(_text(node, "description").split())[:MAX_DESCRIPTION]
    default = _default(node.get("default"), kind)
    return Parameter(name, document_name, kind, is_structured, description, default, is_required)


def _default(value: Any, kind: str) -> Scalar:
    """Return the declared default, as the type `kind` if possible; None if it is missing or too long for a prompt."""
    if value is None or isinstance(value, bool):
        return value
    if kind == "number" and (number := read_number(value)) is not None:
        return number if abs(number) < 10**MAX_DIGITS else None
    try:
        text = value if isinstance(value, str) else json.dumps(storable_json(value), ensure_ascii=False)
    except (RecursionError, TypeError, ValueError):
        return None
    return storable(text)[0] if 0 < len(text) <= MAX_DEFAULT else None


def _text(node: Mapping[str, Any], key: str) -> str:
    value = node.get(key)
    return storable(value)[0] if isinstance(value, str) else ""
