"""Python objects in place of names: an object that a module has is named by it; another one only this process has."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.domains.base import Domain
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.functions import FUNCTIONS
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.settings import Settings
from lumos_queue.util.plugins import DIGITS, IN_PROCESS, TRUSTED
from lumos_queue.util.registry import Registry

_PLAIN = (str, int, float, bool, type(None), tuple, frozenset)


def name_benchmark(benchmark: str | Benchmark, deployment: Settings) -> str:
    """The registered name of a benchmark. Its `domain` may be an object, too. Raises SpecError as `name_object`."""
    if isinstance(benchmark, Benchmark) and isinstance(benchmark.domain, Domain):
        benchmark.domain = name_object(DOMAINS, benchmark.domain, benchmark.domain.name, deployment)
    return name_object(BENCHMARKS, benchmark, getattr(benchmark, "name", ""), deployment)


def name_formulation(formulation: str | Formulation, deployment: Settings) -> str:
    return name_object(FORMULATIONS, formulation, getattr(formulation, "name", ""), deployment)


def address_of(model: str | Callable[[str], Any], deployment: Settings) -> str:
    """The address of a model: as it is given, or of a function that gets a prompt and returns a text."""
    if not callable(model):
        TRUSTED.add_named(model)
        return model
    return f"function:{name_object(FUNCTIONS, model, getattr(model, '__name__', 'function'), deployment)}"


def name_object(registry: Registry, value: Any, name: str, deployment: Settings) -> str:
    """The name under which a registry has an object, or the name itself if one is given.

    Raises SpecError in a deployment for an object that is in no module: workers could not import it.
    """
    if isinstance(value, str):
        TRUSTED.add_named(value)
        return value
    if found := _find_in_module(value):
        TRUSTED.add_named(found)
        if registry.load(found) is value:
            return found
    found = f"{IN_PROCESS}:{name}"
    if deployment.broker_url:
        from lumos_queue.errors import SpecError

        raise SpecError(
            f"'{name}' is defined in this program alone, and the workers of a deployment cannot import it: put it into "
            "a module that LUMOS_PLUGINS lists where they run, or leave out LUMOS_BROKER_URL to work in this process."
        )
    registry.add(found, value, digest_of_object(value))
    return found


def _find_in_module(value: Any) -> str:
    """Where a module other than the program itself has the object, `package.module:name`; '' where none has."""
    places = [getattr(value, "__module__", None), type(value).__module__]
    if isinstance(value, Formulation):
        places.append(value.generator.__module__)
    for place in filter(None, places):
        module = sys.modules.get(place)
        if module is None or place == IN_PROCESS or place.startswith("lumos_queue."):
            continue
        for name, one in vars(module).items():
            if one is value and name.isidentifier():
                return f"{place}:{name}"
    return ""


def digest_of_object(value: Any) -> str:
    """A digest of the source of an object's functions and of its plain attributes. What functions close over is not
    looked at."""
    hasher = hashlib.sha256()
    for part in _parts(value, set()):
        hasher.update(part.encode() + b"\0")
    return hasher.hexdigest()[:DIGITS]


def _parts(value: Any, seen: set[int]) -> Iterator[str]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, FunctionType):
        yield _source(value)
    elif isinstance(value, _PLAIN):
        yield repr(value)
    elif isinstance(value, Mapping):
        for name, one in sorted(value.items(), key=lambda item: str(item[0])):
            yield str(name)
            yield from _parts(one, seen)
    elif isinstance(value, type):
        if value.__module__ == IN_PROCESS:
            yield value.__qualname__
            yield from _parts({name: one for name, one in vars(value).items() if not name.startswith("__")}, seen)
    elif hasattr(value, "__dict__") or hasattr(type(value), "__dataclass_fields__"):
        yield from _parts(type(value), seen)
        fields = getattr(type(value), "__dataclass_fields__", ())
        yield from _parts({name: getattr(value, name) for name in fields} or dict(vars(value)), seen)


def _source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):  # typed into an interpreter
        return "\n".join(_instructions(function.__code__))


def _instructions(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for one in code.co_consts:
        yield from _instructions(one) if isinstance(one, CodeType) else (repr(one),)
