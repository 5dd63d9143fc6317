"""The modules that are measured: every Python file of the chosen folders, parsed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    name: str  #: with dots; a package has the name of its folder
    path: str  #: below the root, with slashes
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")


@dataclass(frozen=True)
class FunctionDefinition:
    """A function or method, nested ones included."""

    module: Module
    node: Function
    qualified_name: str  #: `Class.method`, `function.inner`
    scope: ast.AST  #: the module, class or function that it is written in

    @property
    def location(self) -> str:
        return f"{self.module.path}:{self.node.lineno}"


def read_modules(root: Path, folders: list[str]) -> list[Module]:
    """Parse every Python file of the folders. Raises ValueError when a folder is missing or a file does not parse."""
    modules = []
    for folder in folders:
        if not (root / folder).is_dir():
            raise ValueError(f"'{root / folder}' is not a folder.")
        for file in sorted((root / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            parts = file.relative_to(root).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            try:
                tree = ast.parse(text)
            except SyntaxError as error:
                raise ValueError(f"'{file}' does not parse: {error}") from None
            modules.append(Module(name, file.relative_to(root).as_posix(), text, tree))
    return modules


def find_functions(module: Module) -> list[FunctionDefinition]:
    return list(_walk(module, module.tree, module.tree, ""))


def _walk(module: Module, node: ast.AST, holder: ast.AST, prefix: str) -> Iterator[FunctionDefinition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield FunctionDefinition(module, child, prefix + child.name, holder)
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _walk(module, child, child, f"{prefix}{child.name}.")
        else:
            yield from _walk(module, child, holder, prefix)


def decorator_names(node: Function) -> set[str]:
    """Return the last part of the name of each decorator: `property`, `setter`, `staticmethod`."""
    names = set()
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.add(target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""))
    return names
