"""The arguments of Python functions as types, from the fields of the requests that they make."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature, unwrap
from pathlib import Path
from typing import Any

from lumos_queue.api.convert import convert
from lumos_queue.api.evaluate import evaluate
from lumos_queue.submission.agents import ROLE_OPTIONS
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import DeclaredOption, Entrance, list_options

_HEAD = '''"""The keyword arguments of functions that make requests, for type checkers.

`make docs-reference` writes this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from lumos_queue.api.argument_types import Model, Values
from lumos_queue.formulations.base import Formulation
'''
#: Types of arguments that are wider than those of their fields.
_WIDER = {
    "formulation": "str | Formulation",
    "prompt": "str | Path",
    "roles": "Mapping[str, Model]",
    **dict.fromkeys(map(str, ROLE_OPTIONS), "Model"),
}


def write_argument_types() -> str:
    """Return the module that has a TypedDict for each function whose arguments are the fields of a request."""
    classes = (
        _write_class("InferenceArguments", "`evaluate` and `infer`", InferenceRequest, evaluate),
        _write_class("ConversionArguments", "`convert`", ConversionRequest, convert),
    )
    return _HEAD + "".join(classes)


def _write_class(name: str, functions: str, request_class: type, function: Callable[..., Any]) -> str:
    own = signature(unwrap(function)).parameters
    lines = [
        f"    {option.field}: {_describe_type(option)}"
        for option in list_options(request_class, Entrance.PYTHON)
        if option.field not in own
    ]
    docstring = f'    """The options of {functions}, as docs/commands.md describes them."""'
    return "\n".join(("\n", f"class {name}(TypedDict, total=False):", docstring, "", *lines, ""))


def _describe_type(option: DeclaredOption) -> str:
    kind = _WIDER.get(option.field) or ("Values" if option.option.pairs else _name_type(option.kind))
    return f"{kind} | None" if option.is_optional or option.option.pairs else kind


def _name_type(kind: type) -> str:
    if kind is Path:
        return "str | Path"
    return "str | Sequence[str]" if kind is tuple else kind.__name__
