"""Modules of the product that name a formulation: by a string, or by an import of its module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from lumos_queue.formulations.registry import FORMULATIONS
from tests.structure.source import Module

PACKAGE = "lumos_queue.formulations"
#: Folders whose subject are certain formulations.
EXEMPT = ("lumos_queue/formulations/", "lumos_queue/papers/")
COMMANDS = "lumos_queue/cli/"  #: the default of a command's option may name a formulation
NAMES = frozenset(FORMULATIONS)
MODULES = frozenset(f"{PACKAGE}.{name.replace('-', '_')}" for name in NAMES)


def find_names(module: Module) -> Iterator[tuple[int, str]]:
    """Yield line and name for each formulation that a module names, in the order of the syntax tree."""
    if module.path.startswith(EXEMPT):
        return
    defaults = _find_defaults(module) if module.path.startswith(COMMANDS) else set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            if node not in defaults:
                yield node.lineno, node.value
        elif isinstance(node, ast.ImportFrom):
            imported_modules = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            yield from ((node.lineno, name) for name in sorted(MODULES.intersection(filter(None, imported_modules))))
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names if alias.name in MODULES)


def _find_defaults(module: Module) -> set[ast.AST]:
    """Return the default values of parameters."""
    functions = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef))
    return {value for function in functions for value in function.args.defaults}
