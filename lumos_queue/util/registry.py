"""Objects by name. The module that holds one is imported when its name is asked for, and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from lumos_queue.errors import SpecError, unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """A closed list of names, each with where its object is: `package.module:attribute`."""

    def __init__(self, noun: str, places: Mapping[str, str]):
        self._noun = noun  #: what one is called in messages: 'formulation'
        self._places = dict(places)
        self._loaded: dict[str, T] = {}  #: since an episode asks for the same object often

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._places)

    def load(self, name: str) -> T:
        """The object of that name. Raises SpecError for an unknown one, listing the names."""
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._places:
            raise unknown(self._noun, name, self._places)
        module, _, attribute = self._places[name].partition(":")
        found = self._loaded[name] = getattr(import_module(module), attribute)
        return found

    def load_module(self, name: str, kind: type[T]) -> T:
        """The object that a user's module holds under the registry's noun: `benchmark = MyBenchmark()`.

        Raises SpecError for a module that cannot be imported, and for one that holds no such object.
        """
        try:
            module = import_module(name)
        except Exception as error:  # whatever a user's code raises when it is imported
            problem = f"Cannot import the {self._noun} '{name}': {type(error).__name__}: {error}"
            raise SpecError(problem.split("\n")[0]) from error
        found = getattr(module, self._noun, None)
        if not isinstance(found, kind):
            raise SpecError(
                f"The module '{name}' holds no {self._noun}: let it end in `{self._noun} = …`, "
                f"an object of a subclass of {kind.__name__}."
            )
        return found
