"""Imports between files and between packages.

Counted are `import` and `from … import` statements, absolute and relative, that name a measured module.
`from a.b import c` imports the module a.b.c if it exists, otherwise a.b. The `__init__` files of a and a.b, which
Python runs, too, are not counted. Names in strings (registries, `import_module`) are not counted, because they are
imported on demand.

Three kinds: an import that runs with its module (also in a class body, `try` or `if`), one inside a function, and one
under `if TYPE_CHECKING`, which never runs.

A package is each subfolder and each loose module of the first folder (its own `__init__` too), and each other folder.
Neighbours are packages, and the subfolders and modules of one folder at any depth.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile

from tests.structure.source import Module


class Kind(StrEnum):
    MODULE = "module"
    FUNCTION = "function"
    TYPING = "typing"


@dataclass(frozen=True)
class Import:
    importer: str
    imported: str
    kind: Kind
    location: str  #: file:line


def find_imports(modules: list[Module]) -> list[Import]:
    """Return every import of a measured module by another measured module."""
    known_names = {module.name for module in modules}
    imports = []
    for module in modules:
        for node, kind in _statements(module.tree, Kind.MODULE):
            for name in _find_targets(node, module, known_names):
                if name != module.name:
                    imports.append(Import(module.name, name, kind, f"{module.path}:{node.lineno}"))
    return imports


def unit_of(module: str, folders: list[str]) -> str:
    """Return the package of a module: in the first folder the subfolder or loose module, elsewhere the folder."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == folders[0] else parts[0]


def join_neighbours(imports: Iterable[Import], folders: list[str]) -> list[Import]:
    """Return the imports between neighbours: packages, and subfolders and modules of the same folder.

    Modules of a subfolder count as the subfolder. Imports between a folder and its contents are excluded.
    """
    merged_imports = []
    for statement in imports:
        importer, imported = _neighbours(statement.importer, statement.imported, folders)
        if importer != imported:
            merged_imports.append(replace(statement, importer=importer, imported=imported))
    return merged_imports


def _neighbours(importer: str, imported: str, folders: list[str]) -> tuple[str, str]:
    """Return the packages of two modules; within a package, the children of their deepest common folder."""
    units = unit_of(importer, folders), unit_of(imported, folders)
    if units[0] != units[1]:
        return units
    paths = importer.split("."), imported.split(".")
    common_length = len(list(takewhile(lambda names: names[0] == names[1], zip(*paths, strict=False))))
    if common_length == min(map(len, paths)):
        return units
    first, second = (".".join(path[: common_length + 1]) for path in paths)
    return first, second


def _statements(node: ast.AST, kind: Kind) -> Iterator[tuple[ast.Import | ast.ImportFrom, Kind]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, kind
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and kind is Kind.MODULE:
            yield from _statements(child, Kind.FUNCTION)
        elif isinstance(child, ast.If) and _asks_for_types(child.test):
            yield from _statements(ast.Module(child.body, []), Kind.TYPING)
            yield from _statements(ast.Module(child.orelse, []), kind)
        else:
            yield from _statements(child, kind)


def _asks_for_types(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return name == "TYPE_CHECKING"


def _find_targets(node: ast.Import | ast.ImportFrom, module: Module, known_names: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            parts = module.name.split(".")
            above = parts[: len(parts) - node.level + module.is_package]
            base = ".".join([*above, base] if base else above)
        names = [f"{base}.{alias.name}" for alias in node.names]
    for name in names:
        if name in known_names:
            yield name
        elif isinstance(node, ast.ImportFrom) and name.rpartition(".")[0] in known_names:
            yield name.rpartition(".")[0]
