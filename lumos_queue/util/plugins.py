"""Plug-ins: objects that others' packages bring. Which there are, which may be imported, and which code each is.

An object is found by the name of an entry point of an installed distribution, in a group such as
`lumos_queue.benchmarks`, or by a dotted name, `package.module:object`. Installed distributions are trusted, as their
owner installed them. A dotted name may come out of a database that others write to: it is imported only if
`LUMOS_PLUGINS` lists its module or the folder that has it, or if the person who runs this process gave it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

from lumos_queue.errors import SpecError
from lumos_queue.util.launch_folder import from_launch

if TYPE_CHECKING:  # it takes as long to import as all of the rest
    from importlib.metadata import EntryPoint

GROUPS = ("benchmarks", "formulations", "domains", "endpoints", "recipes", "rankers", "scorers")
DIGITS = 16  #: of a digest that is kept
SHOWN = 8  #: of them, in messages
IN_PROCESS = "__main__"  #: the module of objects that only this process has
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
_CACHES = frozenset({"__pycache__", ".git", ".pytest_cache", ".ruff_cache"})


@dataclass(frozen=True, slots=True)
class Plugin:
    """An object of others, and the code that it is."""

    group: str  #: one of GROUPS
    name: str  #: of the entry point, or dotted
    distribution: str  #: '' where its module belongs to none
    version: str
    digest: str  #: of the files of its top-level package, as they were when it was imported

    def __str__(self) -> str:
        code = f"{self.distribution} {self.version}".strip() or "no distribution"
        return f"{code}, code {self.digest[:SHOWN]}"

    def as_json(self) -> dict[str, str]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Plugin:
        return cls(**{name: str(value.get(name, "")) for name in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Found:
    """An object, and the plug-in that it came from."""

    value: Any
    plugin: Plugin


class TrustedModules:
    """The modules that dotted names may mean in this process."""

    def __init__(self) -> None:
        self._modules: set[str] = set()
        self._given: set[str] = set()  # of these, those that only the person who runs this process has named
        self._folders: list[str] = []

    def add_listed(self, listed: str) -> None:
        """Modules, with those inside them, and folders (what has a `/`), separated by commas.

        A folder is searched after all others for modules. Raises SpecError for what is neither.
        """
        for entry in filter(None, (one.strip() for one in listed.split(","))):
            if "/" in entry or entry == ".":
                folder = os.path.realpath(from_launch(os.path.expanduser(entry)))
                if not os.path.isdir(folder):
                    raise SpecError(
                        f"LUMOS_PLUGINS names the folder '{entry}': there is none. Create it, or correct it."
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
        """Those of the dotted names, also of addresses such as `function:mylab.models:reply`, that a person gave."""
        for name in names:
            name = name.removeprefix("function:")
            module = name.partition(":")[0]
            if is_dotted(name) and module != IN_PROCESS:
                if not self.has(module):
                    self._given.add(module)
                self._modules.add(module)

    def as_setting(self) -> str:
        """What LUMOS_PLUGINS has to be for another process to trust the same."""
        return ",".join([*sorted(self._modules), *self._folders])

    def given_as_setting(self) -> list[str]:
        """What LUMOS_PLUGINS has to list for another process to go on: the folders of modules that were named here.

        Of an installed one it is the module: its folder has all others that are installed, too. A module that cannot be
        found, a mistyped name of an earlier call, is left out.
        """
        return sorted(filter(None, map(_list_module, self._given)))

    def has(self, module: str) -> bool:
        parts = module.split(".")
        if any(".".join(parts[:length]) in self._modules for length in range(1, len(parts) + 1)):
            return True
        return any(PathFinder.find_spec(parts[0], [folder]) for folder in self._folders)


TRUSTED = TrustedModules()


def is_dotted(name: str) -> bool:
    """Whether it is of the form `package.module:object`."""
    return bool(_DOTTED.fullmatch(name))


@cache
def entry_points_of(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """The entry points of a group by name: more than one where several distributions use the name."""
    from importlib.metadata import entry_points

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for one in entry_points(group=f"lumos_queue.{group}"):
        found[one.name] = (*found.get(one.name, ()), one)
    return found


def load_plugin(group: str, noun: str, name: str) -> Found:
    """Import the object with that name: of an entry point, or dotted.

    Raises SpecError for a name that two distributions use, a dotted name that is not trusted, and an object that cannot
    be imported.
    """
    if is_dotted(name):
        module, _, attribute = name.partition(":")
        if not TRUSTED.has(module):
            raise SpecError(
                f"The {noun} '{name}' is in a module that this process does not import for others: if you trust the "
                f"code, list it, LUMOS_PLUGINS={module.partition('.')[0]}, or the folder that it is in, here and where "
                "the work is done."
            )
        return _load(group, noun, name, module, attribute, "", "")
    points = entry_points_of(group)[name]
    if len(points) > 1:
        named = " and ".join(sorted(_describe(one) for one in points))
        raise SpecError(f"The {noun} '{name}' is brought by {named}: uninstall all but one.")
    point = next(iter(points))
    distribution = point.dist
    where = (distribution.name, distribution.version) if distribution else ("", "")
    return _load(group, noun, name, point.module, point.attr, *where)


def _load(
    group: str, noun: str, name: str, module: str, attribute: str, distribution: str, version: str
) -> Found:  # fmt: skip
    told = f"The {noun} '{name}'" + (f" of {distribution} {version}" if distribution else "")
    try:
        digest = digest_of(module)  # before the import: of the code that is imported
        value: Any = import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part)
    except (Exception, SystemExit) as error:  # whatever the code of others raises when it is imported
        problem = " ".join(str(error).split())[:200]
        remedy = ""
        if isinstance(error, ModuleNotFoundError) and not distribution and f"{module}.".startswith(f"{error.name}."):
            remedy = " If a file has it, list the file's folder: LUMOS_PLUGINS=. for this one."
        raise SpecError(f"{told} cannot be imported: {type(error).__name__}: {problem}.{remedy}") from error
    if not distribution:
        distribution, version = _distribution_of(module)
    return Found(value, Plugin(group, name, distribution, version, digest))


def _describe(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _distribution_of(module: str) -> tuple[str, str]:
    """Name and version of the distribution that brings a module; empty where none does."""
    from importlib.metadata import packages_distributions, version

    names = packages_distributions().get(module.partition(".")[0], [])
    name = next(iter(names), "")
    return (name, version(name)) if len(set(names)) == 1 else ("", "")


def digest_of(module: str) -> str:
    """A digest of the files of the top-level package that has the module, or of the one file that it is.

    Raises ModuleNotFoundError.
    """
    hasher = hashlib.sha256()
    for name, path in sorted(_files_of(module)):
        with open(path, "rb") as file:
            hasher.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return hasher.hexdigest()[:DIGITS]


def _files_of(module: str) -> Iterable[tuple[str, str]]:
    """Name and path of each file."""
    found = _find_top(module)
    if found.origin and found.origin != "built-in" and not found.submodule_search_locations:
        return [(found.name, found.origin)]
    folder = next(iter(found.submodule_search_locations or ()), None)
    if folder is None:
        raise ModuleNotFoundError(f"No files of the module '{module}' can be found", name=module)
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = set(folders) - _CACHES
        files += [
            (os.path.relpath(f"{place}/{name}", folder), f"{place}/{name}")
            for name in names
            if not name.endswith(".pyc") and os.path.isfile(f"{place}/{name}")
        ]
    return files


def _list_module(module: str) -> str | None:
    try:
        found = _find_top(module)
    except ModuleNotFoundError:
        return None
    path = os.path.abspath(found.origin or next(iter(found.submodule_search_locations or ())))
    folder = os.path.dirname(path.removesuffix(os.path.sep + "__init__.py"))
    return module if os.path.basename(folder) == "site-packages" else folder


def _find_top(module: str) -> ModuleSpec:
    """The first of its packages that has files of its own: namespaces are shared by many."""
    from importlib.util import find_spec

    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        found = find_spec(".".join(parts[:length]))
        if found is None:
            break
        if found.origin is not None or length == len(parts):
            return found
    raise ModuleNotFoundError(f"No module named '{module}'", name=module)
