"""Read the files of a plug-in's code, and compute their digest.

The code is its top-level package, or its single file, and the modules that it imports from folders without installed
packages. Installed packages, the standard library and this project are dependencies and not part of it.
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

DIGITS = 16  #: of a stored digest
_CACHES = frozenset({"__pycache__", ".git", ".pytest_cache", ".ruff_cache"})


@dataclass(slots=True)
class Code:
    """The code of a module, with the files that its digest covers."""

    module: str
    unit: str  #: its top-level package, or the module itself if it is a single file
    root: str  #: real path of the folder or file of the unit
    digest: str
    files: dict[str, bytes]  #: real path of each file, and its sha256
    is_loaded: bool = False  #: whether the module has been imported for an object in it
    is_imported_here: bool = False  #: whether the unit was imported under its digest, and not before by the program

    def covers(self, spec: ModuleSpec) -> bool:
        """Return whether the file of an imported module is part of the digest."""
        return file_of(spec) in self.files


def read_code(module: str) -> Code:
    """Read all files of the code that a module belongs to, without importing the code. Raises ModuleNotFoundError.

    The digest covers the files of the package's folder. It also covers further files that Python would import: files
    behind links, compiled files without a source, zip files, and imported code outside the package.
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
    """Return two lists of (name, path): a package's files, and further files (behind links, compiled, zip files)."""
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
    for start, target in pending:  # the list grows: a linked package is read after the folder with the link
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
