"""Read the functions of a task from its documents, once for the prompt, the session and the score of an episode."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lumos_queue.actions.tools.functions import Function, functions_of
from lumos_queue.records import Task

FUNCTIONS = "functions"  #: the task's input that lists API entries
RECENT = 256  #: tasks whose functions are cached: enough for those in flight; functions of others are read again
MAX_KEPT = 200  #: a task with more functions is not cached

Functions = Mapping[str, Function]  #: by name, in their order
#: By the id of the list. The list itself is stored beside them, so that no other list gets the same id.
_recent: OrderedDict[int, tuple[list[Any], Functions]] = OrderedDict()


def functions_of_task(task: Task) -> Functions:
    """Return the functions in the task's input `functions` by name; empty if the task has no such list."""
    entries = task.inputs.get(FUNCTIONS)
    if not isinstance(entries, list):
        return {}
    recent = _recent.get(id(entries))
    if recent is not None:
        return recent[1]
    functions = MappingProxyType({function.name: function for function in functions_of(entries)})
    if len(functions) <= MAX_KEPT:
        _recent[id(entries)] = entries, functions
        while len(_recent) > RECENT:
            _recent.popitem(last=False)
    return functions
