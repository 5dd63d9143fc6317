"""Give Python objects names. Other processes can import objects of a module; all others exist only in this process."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from lumos_queue.api.source_digest import digest_of_object
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.domains.base import Domain
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.functions import FUNCTIONS
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import Formulation
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.review.scorers.base import Scorer
from lumos_queue.settings import Settings
from lumos_queue.util.plugins import IN_PROCESS, SHOWN, TRUSTED
from lumos_queue.util.registry import Registry

_ELSEWHERE = (IN_PROCESS, "builtins")  #: modules that no other process can find the object in


def name_benchmark(benchmark: str | Benchmark, deployment: Settings) -> str:
    """Return the registered name of a benchmark. If its `domain` is an object, name it too. Raises as `name_object`."""
    domain = getattr(benchmark, "domain", None)
    if isinstance(benchmark, Benchmark) and isinstance(domain, Domain):
        benchmark.domain = name_object(DOMAINS, domain, domain.name, deployment)
    return name_object(BENCHMARKS, benchmark, getattr(benchmark, "name", ""), deployment)


def name_formulation(formulation: str | Formulation, deployment: Settings) -> str:
    return name_object(FORMULATIONS, formulation, getattr(formulation, "name", ""), deployment)


def address_of(model: str | Callable[[str], Any], deployment: Settings) -> str:
    """Return the address of `model`, which is an address already, or a function that turns a prompt into a text.

    Raises SpecError if `model` has another type, and the errors of `name_object`.
    """
    if isinstance(model, str):
        TRUSTED.add_named(model)
        return model
    if not callable(model):
        raise SpecError(f"A model is {model!r:.80}: expected an address, or a function that gets a prompt.")
    return f"function:{name_object(FUNCTIONS, model, getattr(model, '__name__', type(model).__name__), deployment)}"


def name_object(registry: Registry, value: Any, name: str, deployment: Settings) -> str:
    """Return the name of an object in a registry, and register the object if necessary. A `value` may be its own name.

    Raises SpecError for an object that is in no module if a broker is set, because workers could not import the object.
    """
    if isinstance(value, str):
        TRUSTED.add_named(value)
        return value
    if registry.is_built_in(name) and registry.load(name) is value:
        return name
    if registered_name := _find_in_module(value):
        TRUSTED.add_named(registered_name)
        if registry.load(registered_name) is value:
            return registered_name
    if deployment.broker_url:
        raise SpecError(
            f"'{name}' is defined in this program alone, and the workers of a deployment cannot import it: put it into "
            "a module that LUMOS_PLUGINS lists where they run, or leave out LUMOS_BROKER_URL to work in this process."
        )
    # The digest is part of the name, because a job may still use another object of the same name.
    digest = digest_of_object(value)
    registered_name = f"{IN_PROCESS}:{_as_identifier(name)}_{digest[:SHOWN]}"
    registry.add(registered_name, value, digest)
    return registered_name


def _as_identifier(name: str) -> str:
    """Turn a name into an identifier, because registries expect one after the colon: `<lambda>` becomes `lambda`."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return f"_{plain}" if not plain or plain[0].isdigit() else plain


def _find_in_module(value: Any) -> str:
    """Return `package.module:name` of an object; '' if no module except the program itself contains it."""
    for module_name in _list_module_names(value):
        module = sys.modules.get(module_name)
        if module is None or module_name in _ELSEWHERE or module_name.startswith("lumos_queue."):
            continue
        for name, attribute in vars(module).items():
            if attribute is value and name.isidentifier():
                return f"{module_name}:{name}"
    return ""


def _list_module_names(value: Any) -> list[str]:
    """Return the names of the modules that may contain an object: those of its class and of its functions."""
    names = [getattr(value, "__module__", None), type(value).__module__]
    if isinstance(value, Formulation):
        names.append(value.generator.__module__)
    elif isinstance(value, Scorer):
        names.append(value.judge.__module__)
    elif isinstance(value, Domain):
        session = value.session
        names.append(session.partition(":")[0] if isinstance(session, str) else session.__module__)
    return [name for name in names if isinstance(name, str)]
