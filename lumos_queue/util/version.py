"""Compute the version of this code: the release and a digest of the shipped files. An edited copy has its own version.

The digest covers every file of the three packages except caches. The starter models and the Procfile are inside the
packages of a wheel, but elsewhere in a checkout. They are digested under their names in the wheel, so that a wheel has
the version of its checkout. The packages are those that Python would import, wherever this file is.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.util import find_spec

RELEASE = "0.2.0"  #: pyproject.toml reads it here
PACKAGES = ("lumos_queue", "db", "workers")
#: Maps names in a wheel to paths in a checkout: force-include of pyproject.toml.
ELSEWHERE = {"lumos_queue/starter": "models/starter", "workers/Procfile": "Procfile"}
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache", ".hypothesis", ".DS_Store"})


@cache
def code_version() -> str:
    """Return the version, such as `0.2.0+3f9a1c20`. It is stored with every job, worker session and attempt."""
    hasher = hashlib.sha256()
    for name, path in sorted(list_shipped_files().items()):
        with open(path, "rb") as file:
            hasher.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return f"{RELEASE}+{hasher.hexdigest()[:8]}"


def list_shipped_files() -> dict[str, str]:
    """Return the path of every file of the packages, by its name in a wheel."""
    roots = {package: _find_root(package) for package in PACKAGES}
    files: dict[str, str] = {}
    for package, root in roots.items():
        files |= _files(package, f"{root}/{package}")
    for name, path in ELSEWHERE.items():
        root = roots[name.partition("/")[0]]
        if not os.path.exists(f"{root}/{name}"):
            files |= _files(name, f"{root}/{path}")
    return files


def _find_root(package: str) -> str:
    """Return the folder that contains the package."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"No package '{package}': install lumos-queue again.", name=package)
    return os.path.dirname(os.path.realpath(spec.submodule_search_locations[0]))


def _files(name: str, root: str) -> dict[str, str]:
    """Return the paths of the files at `root`, a file or a folder, under names that begin with `name`."""
    if os.path.isfile(root):
        return {name: root}
    paths = {}
    for folder, folders, files in os.walk(root):
        folders[:] = set(folders) - _CACHES
        inside = name + folder[len(root) :]
        for file in set(files) - _CACHES:
            path = f"{folder}/{file}"
            if not file.endswith(".pyc") and os.path.isfile(path):  # an editor's lock may be a link to nothing
                paths[f"{inside}/{file}"] = path
    return paths
