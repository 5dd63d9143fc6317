"""Parameters and results without annotations, and the uses of `Any`.

Every function counts, also a nested function, but not a lambda; `self` and `cls` need no annotation. Each use of the
name `Any` beyond its import counts. Code lines are lines other than blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import tokenize

from tests.structure.source import FunctionDefinition, Module, decorator_names, find_functions

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def find_untyped_parameters(modules: list[Module]) -> list[str]:
    return [
        f"{function.location} {function.qualified_name}({argument.arg})"
        for module in modules
        for function in find_functions(module)
        for argument in _parameters(function)
        if argument.annotation is None
    ]


def find_untyped_results(modules: list[Module]) -> list[str]:
    """Return the functions without a return annotation, except constructors."""
    return [
        f"{function.location} {function.qualified_name}"
        for module in modules
        for function in find_functions(module)
        if function.node.returns is None and function.node.name != "__init__"
    ]


def find_any(modules: list[Module]) -> list[str]:
    return [
        f"{module.path}:{node.lineno}"
        for module in modules
        for node in ast.walk(module.tree)
        if (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")
    ]


def count_code_lines(module: Module) -> int:
    docstrings = {
        line
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - docstrings)


def _parameters(function: FunctionDefinition) -> list[ast.arg]:
    arguments = function.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if isinstance(function.scope, ast.ClassDef) and "staticmethod" not in decorator_names(function.node):
        positional = positional[1:]
    return [
        argument for argument in (*positional, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg) if argument
    ]
