"""Objects by name. The module that holds one is imported when its name is asked for, and not before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

from lumos_queue.errors import unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """A closed list of names, each with where its object is: `package.module:attribute`."""

    def __init__(self, noun: str, places: Mapping[str, str]):
        self._noun = noun  #: what one is called in messages: 'formulation'
        self._places = dict(places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: str) -> bool:
        return name in self._places

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._places)

    def load(self, name: str) -> T:
        """The object of that name. Raises SpecError for an unknown one, listing the names."""
        if name not in self._places:
            raise unknown(self._noun, name, self._places)
        module, _, attribute = self._places[name].partition(":")
        return getattr(import_module(module), attribute)
