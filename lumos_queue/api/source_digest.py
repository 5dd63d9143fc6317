"""Compute digests of objects that no module file contains: objects of a notebook, or of the program itself."""

from __future__ import annotations

import dis
import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from lumos_queue.util.plugins import DIGITS, IN_PROCESS

_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def digest_of_object(value: Any) -> str:
    """Return a digest of an object: the source of its functions, the program's names that they use, its attributes.

    The digest does not cover imported modules and the contents of objects without Python attributes, such as arrays.
    """
    hasher = hashlib.sha256()
    for part in _Parts().of(value):
        hasher.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return hasher.hexdigest()[:DIGITS]


class _Parts:
    """Yields the texts whose digest identifies an object; an object that occurs several times is read once."""

    def __init__(self) -> None:
        self._visited: dict[int, Any] = {}  # objects by id; they stay alive, so that no id is reused

    def of(self, value: Any) -> Iterator[str]:
        if isinstance(value, _PLAIN):
            yield repr(value)
        elif id(value) not in self._visited:
            self._visited[id(value)] = value
            yield from self._of_new(value)

    def _of_new(self, value: Any) -> Iterator[str]:
        yield type(value).__qualname__
        if isinstance(value, FunctionType):
            yield from self._of_function(value)
        elif isinstance(value, MethodType):
            yield from self._of_each(value.__func__, value.__self__)
        elif isinstance(value, partial):
            yield from self._of_each(value.func, value.args, value.keywords)
        elif isinstance(value, Mapping):
            for name, part in sorted(value.items(), key=lambda item: str(item[0])):
                yield str(name)
                yield from self.of(part)
        elif isinstance(value, Set):
            yield from sorted("\0".join(_Parts().of(member)) for member in value)
        elif isinstance(value, Sequence):
            yield from self._of_each(*value)
        elif isinstance(value, type):
            yield from self._of_class(value)
        elif not isinstance(value, ModuleType):
            yield from self._of_attributes(value)

    def _of_each(self, *values: Any) -> Iterator[str]:
        for part in values:
            yield from self.of(part)

    def _of_function(self, function: FunctionType) -> Iterator[str]:
        yield from _source(function)
        yield from self._of_each(function.__defaults__, function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            yield name
            yield from self._of_used(_content(cell))
        if function.__module__ == IN_PROCESS:
            for name in _globals_read(function.__code__):
                if name in function.__globals__:
                    yield name
                    yield from self._of_used(function.__globals__[name])

    def _of_used(self, value: Any) -> Iterator[str]:
        """Yield the texts of a value that a function uses, if it is code or constant. Calls may change other values."""
        if isinstance(value, (*_PLAIN, tuple, frozenset, FunctionType, MethodType, partial, type)):
            yield from self.of(value)

    def _of_class(self, value: type) -> Iterator[str]:
        yield f"{value.__module__}.{value.__qualname__}"
        if value.__module__ == IN_PROCESS or "<locals>" in value.__qualname__:
            yield from self._of_each(*value.__bases__)
            yield from self.of(
                {
                    name: attribute
                    for name, attribute in vars(value).items()
                    if not name.startswith("__") or callable(attribute)
                }
            )

    def _of_attributes(self, value: Any) -> Iterator[str]:
        yield from self.of(type(value))
        fields = getattr(type(value), "__dataclass_fields__", ())
        attributes = {name: getattr(value, name) for name in fields} or dict(getattr(value, "__dict__", {}))
        yield from self.of(attributes)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _globals_read(code: CodeType) -> list[str]:
    """Return the global names that a function reads, except names that it also sets, such as counters."""
    instructions = [(instruction.opname, instruction.argval) for instruction in dis.get_instructions(code)]
    names = {name for operation, name in instructions if operation in ("LOAD_GLOBAL", "LOAD_NAME")}
    for inner in (constant for constant in code.co_consts if isinstance(constant, CodeType)):
        names |= set(_globals_read(inner))
    return sorted(names - {name for operation, name in instructions if operation == "STORE_GLOBAL"})


def _source(function: FunctionType) -> Iterator[str]:
    try:
        if function.__name__ != "<lambda>":  # the source of a lambda is its whole line
            yield inspect.getsource(function)
            return
    except (OSError, TypeError):  # typed into an interpreter
        pass
    yield from _instructions(function.__code__)


def _instructions(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)
        else:
            yield repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)
