"""List plug-ins (objects of third-party packages), import trusted plug-ins, and identify their code.

The name of a plug-in is an entry point of an installed distribution, in a group such as `lumos_queue.benchmarks`, or a
dotted name, `package.module:object`. Installed distributions are trusted, because somebody installed them here. A
dotted name may come from a database that other people write to. So its module is imported only if `LUMOS_PLUGINS` lists
the module or its folder, or if the person who runs this process gave the name; and the object must be code of such a
module (plugin_trust.py). The digest of a plug-in covers the files that Python imports for it (plugin_files.py), also
files that are imported later (plugin_imports.py).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lumos_queue.errors import PluginChanged, SpecError
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.plugin_files import DIGITS, Code
from lumos_queue.util.plugin_imports import digest_of, hold_code, release_code
from lumos_queue.util.plugin_trust import IN_PROCESS, TRUSTED, TrustedModules, is_dotted

if TYPE_CHECKING:  # its import takes as long as all others together
    from importlib.metadata import EntryPoint

__all__ = [
    "DIGITS",
    "GROUPS",
    "IN_PROCESS",
    "SHOWN",
    "TRUSTED",
    "LoadedPlugin",
    "Plugin",
    "TrustedModules",
    "digest_of",
    "entry_points_of",
    "is_dotted",
    "load_plugin",
]

GROUPS = ("benchmarks", "formulations", "domains", "endpoints", "recipes", "rankers", "scorers")
SHOWN = 8  #: digits of a digest in messages


@dataclass(frozen=True, slots=True)
class Plugin:
    """The name of a third-party object, and the version of its code."""

    group: str  #: one of GROUPS
    name: str  #: of the entry point, or dotted
    distribution: str  #: '' if its module belongs to none
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
class LoadedPlugin:
    """An object and its plug-in."""

    value: Any
    plugin: Plugin


@cache
def entry_points_of(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name. A name that several distributions use has several entry points."""
    from importlib.metadata import entry_points

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=f"lumos_queue.{group}"):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def load_plugin(group: str, noun: str, name: str) -> LoadedPlugin:
    """Import the object of an entry point or of a dotted name; `noun` names its kind in messages.

    Raises SpecError for a name that two distributions use, a dotted name that is not trusted, an object that cannot be
    imported, and an object that a trusted module does not define, but only imports.
    """
    if is_dotted(name):
        module, _, attribute = name.partition(":")
        if not TRUSTED.has(module):
            raise SpecError(
                f"The {noun} '{name}' is in a module that this process does not trust. If you trust the code, set "
                f"LUMOS_PLUGINS={module.partition('.')[0]}, or to the folder of the module, here and for the workers."
            )
        return _load(group, noun, name, module, attribute, "", "")
    points = entry_points_of(group)[name]
    if len(points) > 1:
        sources = " and ".join(sorted(_describe(point) for point in points))
        raise SpecError(f"The {noun} '{name}' is defined by {sources}: uninstall all of them but one.")
    point = next(iter(points))
    distribution = point.dist
    where = (distribution.name, distribution.version) if distribution else ("", "")
    return _load(group, noun, name, point.module, point.attr, *where)


def _load(
    group: str, noun: str, name: str, module: str, attribute: str, distribution: str, version: str
) -> LoadedPlugin:
    subject = f"The {noun} '{name}'" + (f" of {distribution} {version}" if distribution else "")
    try:
        code = hold_code(module)  # before the import, so that it is the imported code
        value: Any = _import(code)
        for part in attribute.split("."):
            value = getattr(value, part)
    except PluginChanged as error:
        raise SpecError(f"{subject} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # third-party code may raise anything when it is imported
        problem = " ".join(str(error).split())[:200]
        remedy = ""
        if isinstance(error, ModuleNotFoundError) and not distribution and f"{module}.".startswith(f"{error.name}."):
            remedy = " If a file defines the module, list the file's folder; for the current folder: LUMOS_PLUGINS=."
        raise SpecError(f"{subject} cannot be imported: {type(error).__name__}: {problem}.{remedy}") from error
    if not distribution:
        TRUSTED.check_object(noun, name, value, code)
    if not distribution:
        distribution, version = _distribution_of(module)
    return LoadedPlugin(value, Plugin(group, name, distribution, version, code.digest))


def _import(code: Code) -> ModuleType:
    try:
        with import_libraries():
            module = import_module(code.module)
        code.is_loaded = True
        return module
    finally:
        if not code.is_loaded:
            release_code(code)


def _describe(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _distribution_of(module: str) -> tuple[str, str]:
    """Return name and version of the distribution of a module; '' if none has it."""
    from importlib.metadata import packages_distributions, version

    names = packages_distributions().get(module.partition(".")[0], [])
    name = next(iter(names), "")
    return (name, version(name)) if len(set(names)) == 1 else ("", "")
