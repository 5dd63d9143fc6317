"""Imports, which the formatter puts in the order of their names: a run of them is compared as a whole."""

from __future__ import annotations

import ast
from collections import Counter
from typing import NamedTuple

from tests.structure.rename_only.program import OldModule, Program
from tests.structure.rename_only.scopes import imported_module


class _Import(NamedTuple):
    """One name that is imported; `from m import n` and `import m` have different keys."""

    module: str
    name: str | None
    alias: str | None
    line: int

    @property
    def key(self) -> tuple[str, str | None, bool]:
        return self.module, self.name, self.alias is not None

    @property
    def bound(self) -> str:
        return self.alias or self.name or self.module.partition(".")[0]

    def __str__(self) -> str:
        alias = f" as {self.alias}" if self.alias else ""
        return f"from {self.module} import {self.name}{alias}" if self.name else f"import {self.module}{alias}"


def split_runs(statements: list[ast.stmt]) -> list[ast.stmt | list[ast.stmt]]:
    """The statements, with those that follow each other and import joined in lists."""
    runs: list[ast.stmt | list[ast.stmt]] = []
    for statement in statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            runs.append(statement)
        elif runs and isinstance(runs[-1], list):
            runs[-1].append(statement)
        else:
            runs.append([statement])
    return runs


def pair_imports(
    old: list[ast.stmt], new: list[ast.stmt], module: OldModule, new_module: str, is_package: bool, program: Program
) -> list[tuple[str, str, int]] | str:
    """The names that two runs bind, in pairs with the new line; or what is wrong, as text."""
    olds = _flatten(old, module.name, module.path.endswith("/__init__.py"))
    news = _flatten(new, new_module, is_package)
    targets = [
        _Import(*program.rename_import(statement.module, statement.name), statement.alias, statement.line)
        for statement in olds
    ]
    missing_keys = Counter(statement.key for statement in targets) - Counter(statement.key for statement in news)
    additions = [statement for statement in news if statement.key not in {of.key for of in targets}]
    if missing_keys or len(targets) != len(news):
        missing_target = next((target for target in targets if target.key in missing_keys), None)
        parts = ([f"'{missing_target}' is missing"] if missing_target else []) + [
            f"'{addition}' was added" for addition in additions[:1]
        ]
        return f"an import differs: {', '.join(parts) or 'one of them is there twice'}"
    in_order = [statement.key for statement in targets] == [statement.key for statement in news]
    if not in_order and all(left.key == right.key for left, right in zip(olds, targets, strict=True)):
        return "imports are in another order, though none of them was renamed"
    pairs = []
    remaining = list(news)
    for left, target in zip(olds, targets, strict=True):
        right = next(statement for statement in remaining if statement.key == target.key)
        remaining.remove(right)
        if left.name != "*":
            pairs.append((left.bound, right.bound, right.line))
    return pairs


def _flatten(statements: list[ast.stmt], module: str, is_package: bool) -> list[_Import]:
    imports = []
    for statement in statements:
        if isinstance(statement, ast.Import):
            imports += [_Import(alias.name, None, alias.asname, statement.lineno) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            source = imported_module(statement, module, is_package)
            imports += [_Import(source, alias.name, alias.asname, statement.lineno) for alias in statement.names]
    return imports
