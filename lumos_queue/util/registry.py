"""Registries of objects by name. The module of an object is imported only when the object is requested."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from lumos_queue.errors import SpecError, unknown
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.plugins import IN_PROCESS, TRUSTED, LoadedPlugin, Plugin, entry_points_of, is_dotted, load_plugin

T = TypeVar("T")


class Registry(Generic[T]):
    """Built-in objects by name, with their locations `package.module:attribute`, and objects of a group of plug-ins.

    A built-in name always means the built-in object, even if a plug-in has the same name.
    """

    def __init__(
        self,
        noun: str,
        locations: Mapping[str, str],
        group: str = "",
        kind: type | None = None,
        check: Callable[[str, T], None] | None = None,
    ):
        """Store names and locations. `noun` names an object's kind in messages. `group` is a group of plug-ins, or ''.

        `kind` is the class of the plug-ins' objects. `check` takes the name and the object of a plug-in, and raises
        SpecError for a wrong object.
        """
        self._noun = noun  #: the noun for an object in messages, such as 'formulation'
        self._locations = dict(locations)
        self._group, self._kind, self._check = group, kind, check
        self._objects: dict[str, T] = {}  #: loaded objects by name, as an episode loads the same object often
        self._plugins: dict[str, Plugin] = {}  #: plug-ins of the loaded objects that are not built in

    def __iter__(self) -> Iterator[str]:
        """Iterate over the built-in names."""
        return iter(self._locations)

    def __contains__(self, name: object) -> bool:
        """Return whether this process may import an object of that name."""
        if name in self._locations or name in self._objects:
            return True
        if not self._group or not isinstance(name, str):
            return False
        return TRUSTED.has(name.partition(":")[0]) if is_dotted(name) else name in entry_points_of(self._group)

    @property
    def plugin_names(self) -> tuple[str, ...]:
        """The names of plug-ins of installed distributions, without names that are also built in."""
        points = entry_points_of(self._group) if self._group else {}
        return tuple(name for name in points if name not in self._locations)

    @property
    def names(self) -> tuple[str, ...]:
        """The built-in names, and the names of plug-ins of installed distributions."""
        return (*self._locations, *self.plugin_names)

    def knows(self, name: str) -> bool:
        """Return whether the name could be that of an object, even if this process may not import it."""
        return name in self or (bool(self._group) and (is_dotted(name) or name.startswith(f"{IN_PROCESS}:")))

    def is_built_in(self, name: str) -> bool:
        return name in self._locations

    def load(self, name: str) -> T:
        """Return the object of that name.

        Raises SpecError for an unknown name, with the known names, and for a plug-in that cannot be imported, is not
        trusted, or is of another kind.
        """
        if name in self._objects:
            return self._objects[name]
        if name in self._locations:
            module, _, attribute = self._locations[name].partition(":")
            with import_libraries(module):
                loaded_object = self._objects[name] = getattr(import_module(module), attribute)
            return loaded_object
        return self._load_plugin(name)

    def find(self, name: str) -> T | None:
        """Return the object of that name, for reports on stored jobs; None if this process cannot load it."""
        if not self.knows(name):
            return None
        try:
            return self.load(name)
        except SpecError:
            return None

    def plugin(self, name: str) -> Plugin | None:
        """Return the plug-in of the object of that name, or None if it is built in. Raises the errors of `load`."""
        if name in self._locations:
            return None
        self.load(name)
        return self._plugins[name]

    def add(self, name: str, value: T, digest: str) -> None:
        """Add an object of this process only, under a name that begins with `__main__:`. Raises SpecError as `load`."""
        assert name.startswith(f"{IN_PROCESS}:")
        self._check_value(name, value)
        self._objects[name], self._plugins[name] = value, Plugin(self._group, name, "", "", digest)

    def _load_plugin(self, name: str) -> T:
        if name.startswith(f"{IN_PROCESS}:"):
            raise SpecError(
                f"The {self._noun} '{name}' exists only in the process that defined it: define it in a module, and "
                "submit the job with its name there, MODULE:OBJECT."
            )
        if self._group and "." in name and is_dotted(f"{name}:x"):
            raise SpecError(
                f"No {self._noun} called '{name}'. If it is a module, name an object in the module: {name}:OBJECT."
            )
        if not self.knows(name):
            choices = (*self.names, "package.module:object") if self._group else self.names
            raise unknown(self._noun, name, choices)
        plugin: LoadedPlugin = load_plugin(self._group, self._noun, name)
        self._check_value(name, plugin.value)
        self._objects[name], self._plugins[name] = plugin.value, plugin.plugin
        return plugin.value

    def _check_value(self, name: str, value: Any) -> None:
        if self._kind is not None and not isinstance(value, self._kind):
            description = (
                f"the class {value.__name__}" if isinstance(value, type) else f"an object of {type(value).__name__}"
            )
            raise SpecError(
                f"The {self._noun} '{name}' is {description}: expected an object of {self._kind.__name__}. Correct "
                "the name, or the object that it means."
            )
        if self._check is not None:
            self._check(name, value)
