"""Decide which modules and objects dotted names may mean in this process.

A name from the database is imported only from a trusted module: `LUMOS_PLUGINS` lists the module or its folder, or the
person who runs this process named it. The object must be code of a trusted module or of the module's own package. Jobs
must not use an object that a trusted module has only imported (`check_object`).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from importlib.machinery import ModuleSpec
from types import MethodType, ModuleType
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.module_files import file_of, find_unit
from lumos_queue.util.plugin_files import Code

IN_PROCESS = "__main__"  #: the module of objects that only this process has
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_PROJECT = "lumos_queue"
_LAYERS = 32  #: maximum number of wrappers around a function
_NAMED_CODE = frozenset({"interface", "session", "open", "check"})  #: fields that can name code as a text


def is_dotted(name: str) -> bool:
    """Return whether a name has the form `package.module:object`."""
    return bool(_DOTTED.fullmatch(name))


class TrustedModules:
    """The modules that dotted names may mean in this process."""

    def __init__(self) -> None:
        self._modules: set[str] = set()
        self._user_modules: set[str] = set()  # modules that only the person who runs this process has named
        self._user_objects: set[str] = set()  # objects that this person has named
        self._folders: list[str] = []

    def add_listed(self, setting: str) -> None:
        """Trust the entries of a setting: modules with their submodules, and folders (with a `/`), separated by commas.

        Python searches these folders last. Raises SpecError for an entry that is neither a module nor a folder.
        """
        for entry in filter(None, (part.strip() for part in setting.split(","))):
            if "/" in entry or entry == ".":
                folder = os.path.realpath(from_launch(os.path.expanduser(entry)))
                if not os.path.isdir(folder):
                    raise SpecError(
                        f"LUMOS_PLUGINS names the folder '{entry}', which does not exist: create it, or correct the "
                        "setting."
                    )
                if folder not in self._folders:
                    self._folders.append(folder)
                    sys.path.append(folder)
            elif _MODULE.fullmatch(entry):
                self._modules.add(entry)
            else:
                raise SpecError(
                    f"LUMOS_PLUGINS has '{entry[:80]}': expected modules such as mylab.tasks, and folders such as "
                    "/home/me/plugins, separated by commas."
                )

    def add_named(self, *names: str) -> None:
        """Trust the dotted names among the names and addresses that the person gave.

        An address such as `function:mylab.models:reply` contains a dotted name.
        """
        for name in names:
            name = name.removeprefix("function:")
            module = name.partition(":")[0]
            if is_dotted(name) and module != IN_PROCESS:
                if not self.has(module):
                    self._user_modules.add(module)
                self._modules.add(module)
                self._user_objects.add(name)

    def as_setting(self) -> str:
        """Return the value of LUMOS_PLUGINS with which another process trusts the same modules and folders."""
        return ",".join([*sorted(self._modules), *self._folders])

    def list_for_setting(self) -> list[str]:
        """Return entries for LUMOS_PLUGINS, so that another process can continue: folders of modules that were named.

        For an installed module the entry is its name, because its folder has all other installed modules, too. Modules
        that cannot be found, such as mistyped names, are left out.
        """
        return sorted(filter(None, map(_list_module, self._user_modules)))

    def has(self, module: str) -> bool:
        """Return whether a module is trusted: listed, or in a listed folder. The module is not imported.

        A folder without code, a link that leads out of the listed folder, a module that Python finds elsewhere first,
        and a program (`__main__`) are not trusted.
        """
        parts = module.split(".")
        if IN_PROCESS in parts or not _MODULE.fullmatch(module):
            return False
        if any(".".join(parts[:length]) in self._modules for length in range(1, len(parts) + 1)):
            return True
        if not self._folders:
            return False
        files = _files_on_the_way(parts)
        return any(
            bool(files[-1]) and all(file.startswith(os.path.join(folder, "")) for file in filter(None, files))
            for folder in self._folders
        )

    def check_object(self, noun: str, name: str, value: Any, code: Code) -> None:
        """Raise SpecError for a dotted name of an object that its module has only imported.

        An object is allowed if the person who runs this process gave this name, or if its code is in a trusted module,
        or in a file of the module's package that the digest covers. The code of an object is the function, class or
        method itself, the function inside wrappers (`partial`, `functools.wraps`, `staticmethod`), or the class of an
        instance. Objects of this project's classes, such as a Formulation or a Domain, are data: their code is the
        functions and classes in their fields, which may also belong to the project. Values of built-in types that
        cannot be called have no code.
        """
        if name in self._user_objects:
            return
        module = code.module
        for home in _homes_of(value):
            if not (self.has(home) or _is_own(home, module, code)):
                source = f"'{home}'" if home else "an unknown module"
                raise SpecError(
                    f"The {noun} '{name}' is code of {source}, which '{module}' only imports: expected an object that "
                    f"'{module}', its package or a listed module defines. If you trust this code with every text of a "
                    f"job, define a function in '{module}' that calls it, or list its module in LUMOS_PLUGINS."
                )


TRUSTED = TrustedModules()


def _is_own(home: str, module: str, code: Code) -> bool:
    """Return whether a module is in the package of the named module, and the digest covers its file."""
    spec = getattr(sys.modules.get(home), "__spec__", None)
    return home.partition(".")[0] == module.partition(".")[0] and spec is not None and code.covers(spec)


def _files_on_the_way(parts: list[str]) -> list[str]:
    """Return the real paths of the files of the packages above a module, then of the module; '' for a missing file."""
    files: list[str] = []
    path: list[str] | None = None
    for length in range(1, len(parts) + 1):
        try:
            spec = _find_spec(".".join(parts[:length]), path)
        except KeyError:  # a namespace inside a namespace that is not imported yet
            path = [os.path.join(folder, parts[length - 1]) for folder in path or ()]
            files.append("")
            continue
        if spec is None or (spec.submodule_search_locations is None and length < len(parts)):
            return [""]
        files.append(file_of(spec))
        path = list(spec.submodule_search_locations or ())
    return files


def _find_spec(name: str, path: list[str] | None) -> ModuleSpec | None:
    """Return the spec that an import would use, without importing the packages above the module."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__spec__", None)
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is not None and (spec := find(name, path, None)) is not None:
            return spec
    return None


def _list_module(module: str) -> str | None:
    try:
        unit = find_unit(module)
    except ModuleNotFoundError:
        return None
    path = os.path.abspath(unit.origin or next(iter(unit.submodule_search_locations or ())))
    folder = os.path.dirname(path.removesuffix(os.path.sep + "__init__.py"))
    return module if os.path.basename(folder) == "site-packages" else folder


def _homes_of(value: Any) -> Iterator[str]:
    """Yield the modules whose code a job runs by naming an object; '' for an unknown module."""
    value = _unwrap(value)
    if isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, type) or hasattr(value, "__qualname__"):  # instances have none
        home = getattr(value, "__module__", None) or type(getattr(value, "__self__", None)).__module__
        yield home if isinstance(home, str) else ""
    elif _is_of_project(type(value).__module__) and is_dataclass(value):
        yield from (home for home in _homes_in(value) if not _is_of_project(home))
    elif callable(value) or not (type(value).__module__ == "builtins" or _is_of_project(type(value).__module__)):
        yield type(value).__module__


def _homes_in(value: Any) -> Iterator[str]:
    """Yield the modules of the code in the fields of an object of this project."""
    for field in fields(value):
        content = getattr(value, field.name)
        if isinstance(content, str) and field.name in _NAMED_CODE and is_dotted(content):
            yield content.partition(":")[0]
        for part in content.values() if isinstance(content, Mapping) else (content,):
            if callable(part) or is_dataclass(part):
                yield from _homes_of(part)


def _is_of_project(module: str) -> bool:
    return module == _PROJECT or module.startswith(f"{_PROJECT}.")


def _unwrap(value: Any) -> Any:
    """Return the object inside wrappers; for a method its class, if the class has the method's function."""
    for _ in range(_LAYERS):
        if isinstance(value, partial):
            value = value.func
        elif isinstance(value, staticmethod | classmethod):
            value = value.__func__
        elif isinstance(value, MethodType):
            owner = value.__self__ if isinstance(value.__self__, type) else type(value.__self__)
            value = owner if _has_function(owner, value.__func__) else value.__func__
        elif not isinstance(value, type) and callable(inner := getattr(value, "__wrapped__", None)):
            value = inner
        else:
            return value
    return type(None)  # an endless chain of wrappers is no code of a plug-in


def _has_function(owner: type, function: Any) -> bool:
    attributes = (attribute for base in owner.__mro__ for attribute in vars(base).values())
    return any(function is getattr(attribute, "__func__", attribute) for attribute in attributes)
