"""Find the code that source files import from folders without installed packages.

Imports are read from the source without running it: statements anywhere, the names that are passed to functions such as
`import_module`, and texts of the form `package.module:object`.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name

from lumos_queue.errors import SpecError
from lumos_queue.util.module_files import (
    OWN_PACKAGES,
    SUFFIXES,
    find_unit,
    is_installation,
    is_loose,
    is_package,
    list_folder,
)
from lumos_queue.util.regular_file import open_regular

_CODE_NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_]\w*", re.ASCII)
_IMPORTERS = frozenset({"__import__", "import_module", "resolve_name"})  #: functions whose first argument is a module


class LooseImports:
    """Follows the imports of a module, inside and outside its package."""

    def __init__(self, unit: ModuleSpec):
        self._units = {unit.name: unit}
        self._names = _modules_on_path() - OWN_PACKAGES - {unit.name}
        names = "|".join(sorted(self._names)).encode()
        self._mention = re.compile(
            rb"\b(?:from|import)[ \t\\\n]+(?:[\w. \t,]+,[ \t]*)?(?:%b)\b|\(\s*['\"](?:%b)['\".:]|['\"](?:%b)[\w.]*:\w"
            % (names, names, names)
        )
        self._mentions: set[str] = set()
        self._is_in_namespace = "." in unit.name  # relative imports can lead to its neighbours

    def look_at(self, source: bytes) -> None:
        """Record the modules outside the package that a source imports. It is parsed only if a quick search matches."""
        if self._names and self._mention.search(source):
            tops = (name.partition(".")[0] for name in _list_imports(source, ""))
            self._mentions |= self._names.intersection(tops)

    def follow(self, module: str) -> Iterator[ModuleSpec]:
        """Yield the packages and single modules that `module` imports from outside its package, also indirectly."""
        is_needed = self._is_in_namespace or any(map(_has_code, sorted(self._mentions)))
        pending = [module] if is_needed else []
        visited, sources = {module}, set[str]()
        for name in pending:  # the list grows: imported modules import other modules
            unit = self._unit_of(name)
            if unit is None:
                continue
            if unit.name not in self._units:
                self._units[unit.name] = unit
                yield unit
            for source, package in _sources_on_the_way(unit, name):
                if source not in sources:
                    sources.add(source)
                    for module_name in _list_imports(_read(source), package):
                        if module_name not in visited:
                            visited.add(module_name)
                            pending.append(module_name)

    def _unit_of(self, name: str) -> ModuleSpec | None:
        """Return the package that has the module, if it is known already or not installed."""
        for unit_name in self._units:
            if f"{name}.".startswith(f"{unit_name}."):
                return self._units[unit_name]
        if name.partition(".")[0] not in self._names:
            return None
        try:
            unit = find_unit(name)
        except (ImportError, ValueError, AttributeError):  # an attribute, or a module that has no spec
            return None
        return unit if is_loose(unit) else None


def _has_code(name: str) -> bool:
    """Return whether a top-level name means a module that is not installed, or a folder with such modules."""
    try:
        unit = find_unit(name)
    except (ImportError, ValueError, AttributeError):
        return False
    if unit.origin is not None:
        return is_loose(unit)
    folders = list(unit.submodule_search_locations or ())
    return any(
        entry.endswith(SUFFIXES) or is_package(f"{folder}/{entry}")
        for folder in folders
        for entry in list_folder(folder)
    )


def _modules_on_path() -> set[str]:
    """Return the names that modules can have in the folders of Python's path without installed packages."""
    names: set[str] = set()
    for entry in sys.path:
        path = os.path.abspath(entry)
        if os.path.isfile(path):
            names |= _modules_in_zip(path)
        elif not is_installation(path):
            for name in list_folder(path):
                module, dot, _ = name.partition(".")
                if not dot or name.endswith(SUFFIXES):
                    names.add(module)
    return {name for name in names if name.isascii() and name.isidentifier()}


def _modules_in_zip(path: str) -> set[str]:
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            return {name.partition("/")[0].partition(".")[0] for name in archive.namelist()}
    except (OSError, SpecError, zipfile.BadZipFile):
        return set()


def _sources_on_the_way(unit: ModuleSpec, module: str) -> Iterator[tuple[str, str]]:
    """Yield (source file, its package) for each source file that Python runs to import a module of `unit`."""
    folder = next(iter(unit.submodule_search_locations or ()), None)
    if folder is None:
        if unit.origin and unit.origin.endswith(".py"):
            yield unit.origin, unit.name.rpartition(".")[0]
        return
    package = unit.name
    yield f"{folder}/__init__.py", package
    for part in module.removeprefix(unit.name).split(".")[1:]:
        yield f"{folder}/{part}.py", package
        folder, package = f"{folder}/{part}", f"{package}.{part}"
        yield f"{folder}/__init__.py", package


def _read(source: str) -> bytes:
    try:
        with open_regular(source) as file:
            return file.read()
    except (OSError, SpecError):  # most do not exist: a name can be a module or a package
        return b""


def _list_imports(source: bytes, package: str) -> Iterator[str]:
    """Yield the absolute names that a source imports: modules, and attributes that may be modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # Python cannot import it either
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:  # it leads out of all packages
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in _IMPORTERS and (name := _text_of(node.args[0])):
                yield name.partition(":")[0]
        elif match := _CODE_NAME.fullmatch(_text_of(node)):
            yield match[1]


def _text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
