"""Write the names of functions and arguments as ToolBench does, on which models were trained (spec/sum2act.md 1).

naming.function_name("suivi-colis", "Latest")    latest_for_suivi_colis
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from lumos_queue.commands import digest

MAX_NAME = 64  #: characters of a function's name; of a longer name the last ones
FINISH_NAME = "Finish"
_MARK = 8  #: characters of the digest that distinguishes functions of the same name
_RESERVED = ("from", "class", "return", "false", "true", "id", "and")
_OTHERS = re.compile("[^A-Za-z0-9\u4e00-\u9fa5]+")


def standardize(text: str) -> str:
    """Return a text as a name of small letters, digits, Chinese characters and single underscores; '' without these."""
    name = _OTHERS.sub("_", text).lower().strip("_")
    return f"get_{name}" if name[:1].isdigit() else name


def safe_name(text: str) -> str:
    """Return the standard name of an API or an argument, with `is_` before a reserved word."""
    name = standardize(text)
    return f"is_{name}" if name in _RESERVED else name


def category_name(category: str) -> str:
    """Return the name of ToolBench's folder for a category."""
    return re.sub("_+", "_", re.sub("[ ,/]", "_", category))


def function_name(tool: str, api: str) -> str:
    """Return the name of a function from its tool and its API, not yet truncated."""
    return f"{safe_name(api)}_for_{standardize(tool)}"


def unique_names(functions: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return a name of at most MAX_NAME characters for each of these different functions (category, tool, API).

    Truncated names that are equal end in a digest of their function, so that no name depends on the order of the list.
    In ToolBench such functions have the same name, and a call always reaches the first function.
    """
    short_names = [function_name(tool, api)[-MAX_NAME:] for _, tool, api in functions]
    times = Counter(short_names)
    reserved_names = {name for name, count in times.items() if count == 1} | {FINISH_NAME}
    return [
        name if times[name] == 1 else _with_digest(name, function, reserved_names)
        for name, function in zip(short_names, functions, strict=True)
    ]


def _with_digest(name: str, function: Sequence[str], reserved_names: set[str]) -> str:
    candidate, number = name, 0
    while candidate in reserved_names or not number:
        candidate = f"{name[_MARK + 1 - MAX_NAME :]}_{digest(*function, str(number))[:_MARK]}"
        number += 1
    reserved_names.add(candidate)
    return candidate
