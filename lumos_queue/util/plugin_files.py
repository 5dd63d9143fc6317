"""Which files the code of a plug-in consists of, and their digest.

They are the files of its top-level package, or its one file, and the modules that it imports from outside the folders
of installed packages. Installed packages, the standard library and this project are dependencies: they do not count.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from dataclasses import dataclass
from importlib.machinery import ModuleSpec

from lumos_queue.util.loose_imports import LooseImports
from lumos_queue.util.module_files import file_of, find_unit, is_package, root_of
from lumos_queue.util.regular_file import open_regular

DIGITS = 16  #: of a digest that is kept
_CACHES = frozenset({"__pycache__", ".git", ".pytest_cache", ".ruff_cache"})


@dataclass(slots=True)
class Code:
    """The code of a module as its digest covers it."""

    module: str
    unit: str  #: its top-level package, or the module itself where it is one file
    root: str  #: real path of the folder or file of the unit
    digest: str
    files: dict[str, bytes]  #: real path of each file, and its sha256
    is_loaded: bool = False  #: whether the module has been imported for an object in it
    is_imported_here: bool = False  #: whether the unit is imported for its digest, and not by the program before

    def covers(self, spec: ModuleSpec) -> bool:
        """Whether the file of an imported module is part of the digest."""
        return file_of(spec) in self.files


def read_code(module: str) -> Code:
    """Read all files of the code that a module belongs to, without importing it. Raises ModuleNotFoundError.

    The digest of a package in one folder is that of its files. What Python would import in addition is appended: files
    behind links, compiled files without a source, zip files, and code outside the package that the module imports.
    """
    first = find_unit(module)
    files: dict[str, bytes] = {}
    regular_files, additional = _list_files(first)
    if not regular_files and not additional:
        raise ModuleNotFoundError(f"No files of the module '{module}' can be found", name=module)
    imports = LooseImports(first)
    own_digests = []
    for name, path in regular_files:
        content = _read(path)
        if path.endswith(".py"):
            imports.look_at(content)
        own_digests.append((name, _add(files, path, content)))
    further_digests = [(f"{first.name}/{name}", _add(files, path, _read(path))) for name, path in additional]
    for unit in imports.follow(module):
        for name, path in itertools.chain(*_list_files(unit)):
            further_digests.append((f"{unit.name}/{name}", _add(files, path, _read(path))))
    hasher = hashlib.sha256()
    for name, digest in (*sorted(own_digests), *sorted(further_digests)):
        hasher.update(name.encode("utf-8", "surrogateescape") + b"\0" + digest)
    return Code(module, first.name, root_of(first), hasher.hexdigest()[:DIGITS], files)


def _read(path: str) -> bytes:
    with open_regular(path) as file:
        return file.read()


def _add(files: dict[str, bytes], path: str, content: bytes) -> bytes:
    digest = files[os.path.realpath(path)] = hashlib.sha256(content).digest()
    return digest


def _list_files(unit: ModuleSpec) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Name and path of each file of a package, and of those that only Python's import reaches."""
    if archive := getattr(unit.loader, "archive", ""):
        return [], [(os.path.basename(archive), archive)]
    if unit.origin and unit.origin != "built-in" and not unit.submodule_search_locations:
        return [(unit.name, unit.origin)], []
    folder = next(iter(unit.submodule_search_locations or ()), None)
    if folder is None:
        return [], []
    regular_files: list[tuple[str, str]] = []
    further_files: list[tuple[str, str]] = []
    visited = {os.path.realpath(folder)}
    pending = [(folder, regular_files)]
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
                    further_files.append((os.path.relpath(path, folder), path))
            for name in folders:
                path = f"{parent}/{name}"
                if os.path.islink(path) and os.path.realpath(path) not in visited and is_package(path):
                    visited.add(os.path.realpath(path))
                    pending.append((path, further_files))
    return regular_files, further_files
