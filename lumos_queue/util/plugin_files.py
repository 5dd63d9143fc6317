"""Which files the code of a plug-in consists of, and their digest.

They are the files of its top-level package, or its one file, and the modules that it imports from outside the folders
of installed packages. Installed packages, the standard library and this project are dependencies: they do not count.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import resolve_name

DIGITS = 16  #: of a digest that is kept
OWN_PACKAGES = frozenset({"lumos_queue", "db", "workers"})  #: this project's, which plug-ins may import
_CACHES = frozenset({"__pycache__", ".git", ".pytest_cache", ".ruff_cache"})
_CODE_NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):[A-Za-z_]\w*", re.ASCII)
_IMPORTERS = frozenset({"__import__", "import_module", "resolve_name"})  #: functions whose first argument is a module
_SUFFIXES = (".py", ".pyc", *EXTENSION_SUFFIXES)
_INITS = tuple(f"__init__{suffix}" for suffix in _SUFFIXES)


@dataclass(slots=True)
class Code:
    """The code of one plug-in package as its digest covers it."""

    name: str  #: of the top-level package, or of the one module
    root: str  #: real path of the file or folder that it was read from
    digest: str
    files: dict[str, bytes]  #: real path of each file, and its sha256
    is_loaded: bool = False  #: whether a module of it that was named is imported
    is_imported_here: bool = False  #: whether it is imported for its digest, and not by the program before

    def covers(self, spec: ModuleSpec) -> bool:
        """Whether the file of an imported module is part of the digest."""
        return file_of(spec) in self.files


def read_code(module: str) -> Code:
    """Read all files of the code that a module belongs to, without importing it. Raises ModuleNotFoundError.

    The digest of a package in one folder is that of its files. What Python would import in addition is appended: files
    behind links, compiled files without a source, zip files, and modules beside the package that its source imports.
    """
    first = find_unit(module)
    imports = _Imports(first)
    own: list[tuple[str, bytes]] = []
    further: list[tuple[str, bytes]] = []
    files: dict[str, bytes] = {}
    units = [first]
    for unit in units:  # it grows: a module that is imported imports others
        listed, additional = _list_files(unit)
        if not listed and not additional:
            raise ModuleNotFoundError(f"No files of the module '{module}' can be found", name=module)
        for count, (name, path) in enumerate((*listed, *additional)):
            with open(path, "rb") as file:
                content = file.read()
            digest = files[os.path.realpath(path)] = hashlib.sha256(content).digest()
            if unit is first and count < len(listed):
                own.append((name, digest))
            else:
                further.append((f"{unit.name}/{name}", digest))
            if path.endswith(".py"):
                units += imports.find_new(content, unit, name)
    hasher = hashlib.sha256()
    for name, digest in (*sorted(own), *sorted(further)):
        hasher.update(name.encode("utf-8", "surrogateescape") + b"\0" + digest)
    return Code(first.name, root_of(first), hasher.hexdigest()[:DIGITS], files)


def find_unit(module: str) -> ModuleSpec:
    """The first package of a module that has files of its own: namespaces are shared by many.

    Raises ModuleNotFoundError.
    """
    from importlib.util import find_spec

    parts = module.split(".")
    for length in range(1, len(parts) + 1):
        spec = find_spec(".".join(parts[:length]))
        if spec is None:
            break
        if spec.origin is not None or length == len(parts):
            return spec
    raise ModuleNotFoundError(f"No module named '{module}'", name=module)


def root_of(unit: ModuleSpec) -> str:
    """The real path of the file or folder of a package."""
    return os.path.realpath(next(iter(unit.submodule_search_locations or ()), None) or unit.origin or "")


def file_of(spec: ModuleSpec) -> str:
    """The real path of the file that a module is imported from, of a zip file that has it the zip file; or ''."""
    if archive := getattr(spec.loader, "archive", ""):
        return os.path.realpath(archive)
    return os.path.realpath(spec.origin) if spec.has_location and spec.origin else ""


def is_loose(spec: ModuleSpec) -> bool:
    """Whether a top-level or namespace module comes from a folder that nothing was installed into."""
    file = file_of(spec)
    if not file or spec.name.partition(".")[0] in OWN_PACKAGES:
        return False
    if not getattr(spec.loader, "archive", ""):
        folder = spec.origin or ""
        for _ in range(spec.name.count(".") + 1 + bool(spec.submodule_search_locations)):
            folder = os.path.dirname(folder)
        return not _is_installation(os.path.abspath(folder))
    return not _is_installation(os.path.dirname(file))


@cache
def _is_installation(folder: str) -> bool:
    """Whether a folder is the standard library's, or has installed distributions."""
    if any(folder == os.path.abspath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")):
        return True
    parts = folder.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts or parts[-1] == "lib-dynload":
        return True
    return any(name.endswith(".dist-info") for name in _list_folder(folder))


def _list_folder(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def _package_of(unit: ModuleSpec, name: str) -> str:
    """The package that relative imports of a file mean."""
    if not unit.submodule_search_locations:
        return unit.name.rpartition(".")[0]
    return ".".join([unit.name, *name.split(os.sep)[:-1]])


def _list_files(unit: ModuleSpec) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Name and path of each file of a package, and of those that only Python's import reaches."""
    if archive := getattr(unit.loader, "archive", ""):
        return [], [(os.path.basename(archive), archive)]
    if unit.origin and unit.origin != "built-in" and not unit.submodule_search_locations:
        return [(unit.name, unit.origin)], []
    folder = next(iter(unit.submodule_search_locations or ()), None)
    if folder is None:
        return [], []
    listed: list[tuple[str, str]] = []
    further: list[tuple[str, str]] = []
    visited = {os.path.realpath(folder)}
    pending = [(folder, listed)]
    for start, target in pending:  # it grows: a package that is a link is read after the folder that has it
        for parent, folders, names in os.walk(start):
            folders[:] = set(folders) - _CACHES
            for name in names:
                path = f"{parent}/{name}"
                if not os.path.isfile(path):
                    continue
                if not name.endswith(".pyc"):
                    target.append((os.path.relpath(path, folder), path))
                elif name[:-1] not in names:  # compiled alone: Python imports it
                    further.append((os.path.relpath(path, folder), path))
            for name in folders:
                path = f"{parent}/{name}"
                if os.path.islink(path) and os.path.realpath(path) not in visited and _is_package(path):
                    visited.add(os.path.realpath(path))
                    pending.append((path, further))
    return listed, further


def _is_package(folder: str) -> bool:
    return any(os.path.isfile(f"{folder}/{name}") for name in _INITS)


class _Imports:
    """Finds the modules outside installed packages that source files import, each once."""

    def __init__(self, first: ModuleSpec):
        self._units = {first.name}
        self._searched: set[str] = set()
        self._beside = _modules_beside() - OWN_PACKAGES - {first.name}
        names = b"|".join(name.encode() for name in sorted(self._beside))
        self._mention = re.compile(rb"\b(?:" + names + rb")\b")

    def find_new(self, source: bytes, unit: ModuleSpec, name: str) -> Iterator[ModuleSpec]:
        """The packages that a file imports and that were not found before. `name`: of the file in its package.

        A module is imported by a statement, anywhere in the source, or by its name as a text. Reading a source takes
        time, so it is done where a name is mentioned, or where a relative import can lead to a neighbour.
        """
        if not self._beside or not ("." in unit.name or self._mention.search(source)):
            return
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):  # Python cannot import it either
            return
        for imported in _imported_names(tree, _package_of(unit, name)):
            match = self._find(imported)
            if match is not None and match.name not in self._units:
                self._units.add(match.name)
                yield match

    def _find(self, name: str) -> ModuleSpec | None:
        if name in self._searched or name.partition(".")[0] not in self._beside:
            return None
        self._searched.add(name)
        try:
            unit = find_unit(name)
        except (ImportError, ValueError, AttributeError):  # an attribute, or a module that has no spec
            return None
        return unit if is_loose(unit) else None


def _modules_beside() -> set[str]:
    """The names that modules can have in those folders of Python's path that nothing was installed into."""
    names: set[str] = set()
    for entry in sys.path:
        path = os.path.abspath(entry)
        if os.path.isfile(path):
            names |= _modules_in_zip(path)
        elif not _is_installation(path):
            for name in _list_folder(path):
                module, dot, _ = name.partition(".")
                if module.isidentifier() and module.isascii() and (not dot or name.endswith(_SUFFIXES)):
                    names.add(module)
    return names


def _modules_in_zip(path: str) -> set[str]:
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            return {name.partition("/")[0].partition(".")[0] for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile):
        return set()


def _imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """The absolute names of what a source imports: modules, and attributes that may be modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            try:
                base = resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:
                continue
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in _IMPORTERS and isinstance(node.args[0].value, str):
                yield node.args[0].value.partition(":")[0]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if match := _CODE_NAME.fullmatch(node.value):
                yield match[1]
