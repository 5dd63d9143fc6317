"""Check the values of a request, and write errors in the spelling of the caller.

Checks write the command line's flags. The entrance that received the request replaces them: in a program's error,
`--max-tokens` is `max_tokens=`.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Container, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.submission.requests.option import MAX_INTEGER, DeclaredOption, Entrance, list_options
from lumos_queue.util.runtime_types import is_sequence

COMMAND_LINE = (Entrance.COMMAND, Entrance.RERUN, Entrance.EXTEND)
#: A command that a message proposes (it keeps its flags), or a flag.
_FLAG = re.compile(r"lumos [a-z][^.;:)\n]*|--[a-z]+(?:-[a-z]+)*|(?<![\w|])[A-Z]{2,}(?:\|[A-Z]+)*(?![\w|])")
_EXPECTATIONS: Mapping[type, str] = {
    str: "a text",
    bool: "true or false",
    Path: "a path",
    tuple: "a list of texts",
}


def check_request(request: object) -> None:
    """Raises SpecError for the first declared field of the wrong type, or out of its range. `request`: a dataclass."""
    for option in list_options(type(request)):
        check_value(option, getattr(request, option.field))


def check_value(option: DeclaredOption, value: Any) -> None:
    """Raises SpecError if a field cannot have this value."""
    if value is None and option.is_optional:
        return
    if option.kind in (int, float):
        check_number(option.flag, value, option.kind, option.option.min, option.option.max)
    elif not _fits(option.kind, value):
        raise SpecError(f"{option.flag} is {value!r:.80}: expected {_EXPECTATIONS[option.kind]}.")


def normalize(option: DeclaredOption, value: Any) -> Any:
    """Return a path for a text where a path is expected, and a tuple for a list. Other values are unchanged."""
    if option.kind is Path and isinstance(value, str):
        return Path(value)
    return tuple(value) if option.kind is tuple and is_sequence(value) else value


def require_options(request_class: type, names: Container[str]) -> None:
    """Raises SpecError for the first required option whose field is not in `names`."""
    for option in list_options(request_class):
        if option.option.required and option.field not in names:
            raise SpecError(f"{option.flag} is missing: expected {_EXPECTATIONS[option.kind]}.")


def check_number(name: str, value: Any, kind: type, least: float | None, largest: float | None) -> None:
    """Raises SpecError unless `value` is a number of the kind int or float between two bounds.

    `name` is the caller's name of the value. Without a bound, whole numbers end where the databases' numbers end, and
    other numbers must be finite.
    """
    bound = MAX_INTEGER if kind is int else sys.float_info.max
    lowest, highest = (-bound if least is None else least), (bound if largest is None else min(largest, bound))
    types = (int,) if kind is int else (int, float)
    if not isinstance(value, types) or isinstance(value, bool) or not lowest <= value <= highest:
        raise SpecError(describe_number(name, value, kind, least, largest))


def describe_number(name: str, value: Any, kind: type, least: float | None, largest: float | None) -> str:
    """Return the sentence about a number that is refused."""
    if kind is int:
        lowest = -MAX_INTEGER if least is None else int(least)
        expectation = f"a whole number from {lowest:,} to {MAX_INTEGER if largest is None else int(largest):,}"
    elif largest is not None and math.isfinite(largest):
        expectation = f"a number from {least or 0:g} to {largest:g}"
    else:
        expectation = "a finite number" if least is None else f"a number of at least {least:g}"
    return f"{name} is {value!r:.80}: expected {expectation}."


def spell(option: DeclaredOption, entrance: Entrance) -> str:
    """Return a field's name as its caller writes it: `--max-tokens`, `max_tokens=`, or the label of a form."""
    if entrance in COMMAND_LINE:
        return option.flag
    if entrance is Entrance.PYTHON and entrance in option.option.entrances:
        return f"{option.field}="
    if entrance is Entrance.SWEEP:
        return option.flag.removeprefix("--").replace("-", "_")
    return option.label if entrance is Entrance.FORM else option.field


def spell_flags(message: str, request_class: type, entrance: Entrance) -> str:
    """Return a message with each flag of the request in the caller's spelling. Proposed commands keep their flags."""
    if entrance in COMMAND_LINE:
        return message
    names = {option.flag: spell(option, entrance) for option in list_options(request_class)}
    return _FLAG.sub(lambda match: names.get(match[0], match[0]), message)


@contextmanager
def spell_errors(request_class: type, entrance: Entrance) -> Generator[None, None, None]:
    """Write the message of a SpecError that leaves this context in the caller's spelling."""
    try:
        yield
    except SpecError as error:
        error.args = (spell_flags(str(error), request_class, entrance), *error.args[1:])
        raise


def spell_remark(remark: Callable[[str], None], request_class: type, entrance: Entrance) -> Callable[[str], None]:
    """Return a function that passes remarks on in the caller's spelling."""
    return lambda line: remark(spell_flags(line, request_class, entrance))


def _fits(kind: type, value: Any) -> bool:
    if kind is Path:
        return isinstance(value, str | Path)
    if kind is tuple:
        return is_sequence(value) and all(isinstance(text, str) for text in value)
    return isinstance(value, kind)
