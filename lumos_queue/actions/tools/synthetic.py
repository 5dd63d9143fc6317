"""Generated answers for requests without a record: of the shape in the API's document, with meaningless values, the
same for the same request on every machine. Without a shape the answer is the name of the API and the arguments.

They test whether an agent calls the right functions in the right way; they contain no facts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.function_names import safe_name
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.shapes import LIST_LENGTH, read_shape
from lumos_queue.commands import digest

VERSION = "1"  #: part of every seed: another version means other answers
MAX_VALUES = 1_000  #: of one answer
MAX_ITEMS = 3  #: of a list, whatever length is documented
_WORDS = (
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "islet",
    "jasper",
    "kelp",
    "linden",
    "maple",
    "north",
    "olive",
    "prairie",
)
_LIST = re.compile(r"list of (\w+) with length ([0-9]{1,6})")


def synthesize(function: Function, arguments: Mapping[str, Any]) -> Answer:
    """Return a generated answer to a request, which is always the same for the same arguments."""
    shape = read_shape(function.template)
    if shape is None:
        return Answer("", {"api": function.api, "arguments": dict(arguments)}, 0, "synthetic")
    names = (function.category, function.tool, function.api)
    seed = digest("synthetic", VERSION, *names, json.dumps(dict(arguments), sort_keys=True))
    return Answer("", _Generator(seed, arguments).value(shape, ""), 0, "synthetic")


class _Generator:
    """Generates values of a shape from a stream of numbers that depends on the seed alone.

    Each number is the sha256 of seed and counter, so that it is the same in every version, unlike Python's `random`.
    """

    def __init__(self, seed: str, arguments: Mapping[str, Any]):
        self._seed, self._draw_count, self._value_count = seed, 0, 0
        self._arguments = {safe_name(name): value for name, value in arguments.items()}

    def value(self, shape: Any, name: str) -> Any:
        """Return a value of the shape. `name`: the field that contains the value, or ''."""
        self._value_count += 1
        if self._value_count > MAX_VALUES:
            return None
        if isinstance(shape, dict):
            return {key: self.value(inner, key) for key, inner in self._first(shape) if key != LIST_LENGTH}
        if isinstance(shape, list):
            return self._list(shape, name)
        return self._leaf(str(shape), name)

    def _first(self, shape: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
        return list(shape.items())[: max(0, MAX_VALUES - self._value_count)]

    def _list(self, shape: Sequence[Any], name: str) -> list[Any]:
        if len(shape) == 1 and isinstance(shape[0], str) and (match := _LIST.fullmatch(shape[0])):
            return self._several(match[1], match[2], name)
        if len(shape) == 1:
            length = shape[0].get(LIST_LENGTH) if isinstance(shape[0], dict) else 1
            count = length if isinstance(length, int) else 1
            return [self.value(shape[0], name) for _ in range(min(max(count, 1), MAX_ITEMS))]
        return [self.value(inner, name) for inner in shape[:MAX_ITEMS]]

    def _several(self, kind: str, length: str, name: str) -> list[Any]:
        return [self._leaf(kind, name) for _ in range(min(int(length), MAX_ITEMS))]

    def _leaf(self, kind: str, name: str) -> Any:
        if kind == "NoneType":
            return None
        if kind in ("empty list", "list"):
            return []
        if kind == "dict":
            return {}
        if kind == "bool":
            return bool(self._draw(2))
        if match := _LIST.fullmatch(kind):
            return self._several(match[1], match[2], name)
        argument = self._arguments.get(safe_name(name)) if name else None
        if kind == "int":
            return argument if isinstance(argument, int) and not isinstance(argument, bool) else self._draw(1_000)
        if kind == "float":
            return argument if isinstance(argument, float) else self._draw(100_000) / 100
        return argument if isinstance(argument, str) else f"{_WORDS[self._draw(len(_WORDS))]}-{self._draw(1_000)}"

    def _draw(self, below: int) -> int:
        """Return the next number of the stream, from 0 to `below` - 1."""
        self._draw_count += 1
        return int(hashlib.sha256(f"{self._seed} {self._draw_count}".encode()).hexdigest()[:12], 16) % below
