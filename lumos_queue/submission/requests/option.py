"""Declare the options of a request: a field's help, range and names, and the entrances that take it.

@dataclass(frozen=True, slots=True)
class InferenceRequest:
    limit: Annotated[int, Option("Use only the first so many rows; 0: all.", min=0, max=MAX_INTEGER)] = 0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

MAX_INTEGER = 2**31 - 1  #: the largest number that both databases can store
Value = str | int | float | bool | Path | Sequence[str] | None  #: of a field


class Entrance(StrEnum):
    """A way to make a request."""

    COMMAND = "command"
    PYTHON = "python"
    SWEEP = "sweep"
    RERUN = "rerun"
    EXTEND = "extend"
    FORM = "form"


EVERYWHERE = frozenset((Entrance.COMMAND, Entrance.PYTHON))


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of a field, beside its type and default."""

    help: str
    min: float | None = None
    max: float | None = None
    metavar: str | None = None
    flag: str = ""  #: of the command line; '': --field-name
    positional: bool = False
    entrances: frozenset[Entrance] = EVERYWHERE
    label: str = ""  #: of a form; '': the field's name
    required: bool = False  #: whether a request cannot be made without it
    may_lack: bool = False  #: of a positional argument: whether the command line may leave it out
    shown_default: str = ""  #: in the command's help, where the default is a sentinel
    change_help: str = ""  #: help of `rerun` and `extend`; '': `help`
    pairs: Literal["", "text", "json"] = ""  #: each text is NAME=VALUE, and Python takes a mapping to such values


@dataclass(frozen=True, slots=True)
class DeclaredOption:
    """A field of a request with its declaration."""

    field: str
    kind: type  #: str, int, float, bool, Path, or tuple (of texts)
    is_optional: bool  #: whether None is a value
    default: Value
    option: Option

    @property
    def flag(self) -> str:
        """The name on the command line, `--max-tokens`; of a positional argument `BENCHMARK`."""
        if self.option.positional:
            return self.option.metavar or self.field.upper()
        return self.option.flag or f"--{self.field.replace('_', '-')}"

    @property
    def label(self) -> str:
        return self.option.label or self.field


@cache
def list_options(request_class: type, entrance: Entrance | None = None) -> tuple[DeclaredOption, ...]:
    """Return the declared fields of a request in order; with `entrance` only those that it takes."""
    hints = get_type_hints(request_class, include_extras=True)
    options: list[DeclaredOption] = []
    for field in fields(request_class):
        hint = hints[field.name]
        if get_origin(hint) is not Annotated:
            continue
        annotation, *metadata = get_args(hint)
        option = next((part for part in metadata if isinstance(part, Option)), None)
        if option and (entrance is None or entrance in option.entrances):
            assert field.default is not MISSING, f"{request_class.__name__}.{field.name} has no default"
            options.append(DeclaredOption(field.name, *_split_optional(annotation), field.default, option))
    return tuple(options)


def list_changed(request: object) -> list[DeclaredOption]:
    """Return the declared fields of a request whose value is not the default."""
    return [option for option in list_options(type(request)) if getattr(request, option.field) != option.default]


def _split_optional(annotation: Any) -> tuple[type, bool]:
    """Return the type of a field, and whether None is a value: `int | None` is int, True."""
    parts = [annotation]
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not type(None)]
    assert len(parts) == 1, f"{annotation}: a field has one type"
    return get_origin(parts[0]) or parts[0], parts != [annotation]
