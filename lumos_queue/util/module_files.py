"""Find the files of modules, and recognise folders with installed packages."""

from __future__ import annotations

import os
import sysconfig
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec

SUFFIXES = (".py", ".pyc", *EXTENSION_SUFFIXES)  #: of files that Python imports
OWN_PACKAGES = frozenset({"lumos_queue", "db", "workers"})  #: this project's, which plug-ins may import


def find_unit(module: str) -> ModuleSpec:
    """Return the spec of the module's outermost package that is not a namespace package, or of the module itself.

    Raises ModuleNotFoundError for an unknown module.
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
    """Return the real path of the file or folder of a package."""
    return os.path.realpath(next(iter(unit.submodule_search_locations or ()), None) or unit.origin or "")


def file_of(spec: ModuleSpec) -> str:
    """Return the real path of the file, or zip file, from which a module is imported; '' for none."""
    if archive := getattr(spec.loader, "archive", ""):
        return os.path.realpath(archive)
    return os.path.realpath(spec.origin) if spec.has_location and spec.origin else ""


def is_loose(spec: ModuleSpec) -> bool:
    """Return whether a top-level or namespace module is in a folder without installed packages."""
    file = file_of(spec)
    if not file or spec.name.partition(".")[0] in OWN_PACKAGES:
        return False
    if not getattr(spec.loader, "archive", ""):
        folder = spec.origin or ""
        for _ in range(spec.name.count(".") + 1 + bool(spec.submodule_search_locations)):
            folder = os.path.dirname(folder)
        return not is_installation(os.path.abspath(folder))
    return not is_installation(os.path.dirname(file))


@cache
def is_installation(folder: str) -> bool:
    """Return whether a folder is the standard library's, or has installed distributions."""
    if any(folder == os.path.abspath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")):
        return True
    parts = folder.split(os.sep)
    if "site-packages" in parts or "dist-packages" in parts or parts[-1] == "lib-dynload":
        return True
    return any(name.endswith(".dist-info") for name in list_folder(folder))


def list_folder(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def is_package(folder: str) -> bool:
    """Return whether Python imports a folder as a package with an `__init__` file."""
    return any(os.path.isfile(f"{folder}/__init__{suffix}") for suffix in SUFFIXES)
