"""The files of a checkout, with their facts and imports."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from tests.affected.fact_cache import read_facts
from tests.affected.facts import Facts

PART = "::"  #: between the path of a helper of tests and a name of it

_SCRIPT = Path(__file__).with_name("grimp_imports.py")


class UnreadableTree(Exception):
    """A checkout of which no graph can be made: the message says why."""


@dataclass(frozen=True)
class Tree:
    facts: dict[str, Facts]  #: of each file by its path below the root, and of each part of a helper: `PATH::NAME`
    paths: dict[str, str]  #: of each module, by its name; a package's is that of its `__init__`
    imports: dict[str, list[str]]  #: module to the modules that it imports

    @cached_property
    def modules(self) -> dict[str, str]:
        """The name of the module that each path is."""
        return {path: module for module, path in self.paths.items()}

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Name of a folder, without what is above it, to the files at any depth below it."""
        paths_by_name: dict[str, list[str]] = {}
        for path in self.facts:
            for folder in set(PurePosixPath(path).parts[:-1]) if PART not in path else ():
                paths_by_name.setdefault(folder, []).append(path)
        return paths_by_name

    @cached_property
    def package_folders(self) -> set[str]:
        """Every folder below the root that has code, with its path."""
        return {parent.as_posix() for path in self.paths.values() for parent in list(PurePosixPath(path).parents)[:-1]}

    @cached_property
    def file_names(self) -> dict[str, list[str]]:
        paths_by_name: dict[str, list[str]] = {}
        for path in self.facts:
            if PART not in path:
                paths_by_name.setdefault(PurePosixPath(path).name, []).append(path)
        return paths_by_name

    def find_module(self, name: str) -> str | None:
        """The path of the longest module that a dotted name begins with.

        Of a helper of tests the part, if the name goes on with one.
        """
        rest = ""
        while name:
            if path := self.paths.get(name):
                part = f"{path}{PART}{rest.partition('.')[0]}"
                return part if part in self.facts else path
            name, _, last = name.rpartition(".")
            rest = f"{last}.{rest}"
        return None


def file_of(node: str) -> str:
    return node.partition(PART)[0]


def is_test(path: str) -> bool:
    """Whether a file is one that pytest collects."""
    return path.startswith("tests/") and PurePosixPath(path).name.startswith("test_") and path.endswith(".py")


def read_tree(root: Path, cache: Path) -> Tree:
    """Raises UnreadableTree."""
    files = list_files(root)
    packages = sorted({path.split("/")[0] for path in files if path.count("/") == 1 and path.endswith("/__init__.py")})
    try:
        facts = read_facts(root, files, cache)
    except SyntaxError as error:
        raise UnreadableTree(f"a file does not parse: {error}") from None
    paths = {_module_of(path): path for path in files if path.endswith(".py") and path.split("/")[0] in packages}
    parts = {f"{path}{PART}{name}": part for path, whole in facts.items() for name, part in whole.parts.items()}
    return Tree(facts | parts, paths, _read_imports(root, packages))


def list_files(root: Path) -> list[str]:
    """What git tracks or would add, without what was deleted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(path for path in set(names) if path and (root / path).is_file())


def _read_imports(root: Path, packages: Iterable[str]) -> dict[str, list[str]]:
    command = [sys.executable, "-P", str(_SCRIPT), *packages]
    process = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if process.returncode:
        raise UnreadableTree(f"grimp: {(process.stderr.strip() or 'no message').splitlines()[-1]}")
    return json.loads(process.stdout)


def _module_of(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
