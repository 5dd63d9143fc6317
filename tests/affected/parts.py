"""The parts of a helper module of tests: each of its names, with the statements that this name uses.

A test that imports one function of a helper, or uses one fixture of a conftest.py, depends on that function, and not
on the imports of the other functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Import = ast.Import | ast.ImportFrom


def find_parts(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Yield each name that the module defines, with a module of the statements that the name needs.

    Statements that only run (calls, loops) belong to every part.
    """
    definitions: dict[str, list[ast.stmt]] = {}
    imports: dict[str, list[ast.stmt]] = {}
    always: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, _Import):
            for alias in statement.names:
                imports.setdefault(alias.asname or alias.name.partition(".")[0], []).append(_take(statement, alias))
        elif names := _find_defined(statement):
            for name in names:
                definitions.setdefault(name, []).append(statement)
        else:
            always.append(statement)
    usage = {name: _find_names(statements) for name, statements in definitions.items()}
    for name in definitions:
        names = _reach({name} | _find_names(always), usage)
        body = [
            statement
            for used_name in sorted(names)
            for statement in imports.get(used_name, []) + definitions.get(used_name, [])
        ]
        yield name, ast.Module([*body, *always], [])


def find_automatic(tree: ast.Module) -> Iterator[str]:
    """Yield the names of autouse fixtures and hooks: every test below the folder of their conftest.py uses them."""
    for node in tree.body:
        if isinstance(node, _Function) and (node.name.startswith("pytest_") or _is_autouse(node)):
            yield node.name


def find_plugins(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a conftest.py names in `pytest_plugins`."""
    for statement in tree.body:
        if "pytest_plugins" in _find_defined(statement):
            for node in ast.walk(statement):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def _take(statement: _Import, alias: ast.alias) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(statement.module, [alias], statement.level)


def _find_defined(statement: ast.stmt) -> list[str]:
    if isinstance(statement, _Function | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _find_names(statements: list[ast.stmt]) -> set[str]:
    return {
        node.id if isinstance(node, ast.Name) else node.arg
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name | ast.arg)
    }


def _reach(names: set[str], usage: dict[str, set[str]]) -> set[str]:
    """Return the names that these names use, directly or through other names of the module."""
    visited: set[str] = set()
    pending = set(names)
    while pending:
        visited |= pending
        pending = {target for name in pending for target in usage.get(name, ())} - visited
    return visited


def _is_autouse(node: _Function) -> bool:
    return any(
        keyword.arg == "autouse" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )
