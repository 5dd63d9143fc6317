"""Who imports whom, among files and among packages.

Which imports count: `import` and `from … import` statements, absolute and relative, that name a measured module.
`from a.b import c` imports the module a.b.c if there is one, otherwise a.b; that Python also runs the `__init__` of a
and of a.b on the way is not counted. Names in strings (registries, `import_module`) are not counted: they import
nothing until someone asks.

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
    place: str  #: file:line


def find_imports(modules: list[Module]) -> list[Import]:
    """Every import of a measured module by another one."""
    known = {module.name for module in modules}
    found = []
    for module in modules:
        for node, kind in _statements(module.tree, Kind.MODULE):
            for name in _imported(node, module, known):
                if name != module.name:
                    found.append(Import(module.name, name, kind, f"{module.path}:{node.lineno}"))
    return found


def unit_of(module: str, folders: list[str]) -> str:
    """The package a module belongs to: in the first folder the subfolder or the loose module, elsewhere the folder."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == folders[0] else parts[0]


def join_neighbours(imports: Iterable[Import], folders: list[str]) -> list[Import]:
    """The imports between neighbours: packages, and subfolders and modules of the same folder.

    What lies in a subfolder counts for the subfolder. Imports between a folder and what lies in it are left out.
    """
    joined = []
    for statement in imports:
        importer, imported = _neighbours(statement.importer, statement.imported, folders)
        if importer != imported:
            joined.append(replace(statement, importer=importer, imported=imported))
    return joined


def _neighbours(importer: str, imported: str, folders: list[str]) -> tuple[str, str]:
    """The packages of two modules; within a package, the children of the deepest folder that holds both."""
    units = unit_of(importer, folders), unit_of(imported, folders)
    if units[0] != units[1]:
        return units
    paths = importer.split("."), imported.split(".")
    shared = len(list(takewhile(lambda names: names[0] == names[1], zip(*paths, strict=False))))
    if shared == min(map(len, paths)):
        return units
    first, second = (".".join(path[: shared + 1]) for path in paths)
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


def _imported(node: ast.Import | ast.ImportFrom, module: Module, known: set[str]) -> Iterator[str]:
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
        if name in known:
            yield name
        elif isinstance(node, ast.ImportFrom) and name.rpartition(".")[0] in known:
            yield name.rpartition(".")[0]
