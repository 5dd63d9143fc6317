"""Collect every regular expression of the source: `python -m tests.patterns.source ROOT PACKAGE…` prints them as JSON.

Patterns are read from the syntax tree, with the constant texts of the module. A module with other patterns, which are
built from imported texts or in a comprehension, is imported while a recorder sees each compiled pattern. This needs a
separate process, in which the module was not imported before.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("lumos_queue", "db", "workers")
SEARCHES = {"search", "findall", "finditer", "sub", "subn", "split"}
METHODS = {*SEARCHES, "match", "fullmatch"}
#: Index of the flags among the positional arguments of a function of `re`.
FLAGS_AT = {"compile": 1, "split": 3, "sub": 4, "subn": 4}
ANY_USE = {"search", "fullmatch"}
#: The nodes of an expression of texts.
_TEXT_PARTS = (ast.Constant, ast.JoinedStr, ast.FormattedValue, ast.BinOp, ast.Add, ast.Name, ast.Load, ast.Tuple)


@dataclass(frozen=True)
class Use:
    """A pattern and its use in the code. `text` is None if only a run decides it."""

    name: str  #: the path of the file, and the variable or function that has the pattern
    text: str | None
    flags: int
    searched: bool
    whole: bool


class Recorder:
    """Records compiled patterns while it is active, by file and line."""

    def __init__(self) -> None:
        self.compiled: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)

    def __enter__(self) -> Recorder:
        self._original: Callable[..., Any] = re._compile  # pyright: ignore[reportAttributeAccessIssue]
        re._compile = self._compile  # pyright: ignore[reportAttributeAccessIssue]
        return self

    def __exit__(self, *_: object) -> None:
        re._compile = self._original  # pyright: ignore[reportAttributeAccessIssue]

    def _compile(self, pattern: Any, flags: Any) -> Any:
        caller = sys._getframe(2)  # 1 is the function of `re`
        result = self._original(pattern, flags)
        if isinstance(result.pattern, str):
            self.compiled[caller.f_code.co_filename, caller.f_lineno].append((result.pattern, result.flags))
        return result


def collect(root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> list[Use]:
    """Return the patterns of all files below the packages, which must be importable."""
    paths = [path for package in packages for path in sorted((root / package).rglob("*.py"))]
    trees = {path: ast.parse(text) for path in paths if "re." in (text := path.read_text())}
    names = {path: _read_constants(tree) for path, tree in trees.items()}
    with Recorder() as recorder:
        for path, tree in trees.items():
            if any(_evaluate(call, names[path])[0] is None for *_, call in _find_calls(tree)):
                names[path] = vars(importlib.import_module(_name_module(path.relative_to(root))))
    anywhere = _find_methods(trees.values())
    uses: list[Use] = []
    for path, tree in trees.items():
        local_methods = _find_methods([tree])
        for owner, variable, call in _find_calls(tree):
            function = call.func.attr  # pyright: ignore[reportAttributeAccessIssue]
            methods = {function}
            if function == "compile":
                methods = (local_methods if variable.startswith("_") or not variable else anywhere)[variable] or ANY_USE
            lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
            patterns = [pattern for line in lines for pattern in recorder.compiled.get((str(path), line), [])]
            name = f"{path.relative_to(root)}:{variable or owner}"
            for text, flags in dict.fromkeys(patterns) or [_evaluate(call, names[path])]:
                uses += [Use(name, text, flags, *mode) for mode in _list_modes(methods)]
    return uses


def _name_module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _list_modes(methods: set[str]) -> Iterator[tuple[bool, bool]]:
    if methods & SEARCHES:
        yield True, False
    elif "match" in methods:
        yield False, False
    if "fullmatch" in methods:
        yield False, True


def _find_calls(tree: ast.AST) -> list[tuple[str, str, ast.Call]]:
    """Return the owner, the variable ("" without an assignment) and the node of each call of `re`."""
    variables = dict(pair for node in ast.walk(tree) for pair in _list_assignments(node))

    def visit(node: ast.AST, owner: str) -> Iterator[tuple[str, str, ast.Call]]:
        if isinstance(node, ast.Call) and _names_re(node.func):
            yield owner, variables.get(node, ""), node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            owner = f"{owner}.{node.name}".lstrip(".")
        elif not owner and (targets := [name for _, name in _list_assignments(node)]):
            owner = targets[0]
        for child in ast.iter_child_nodes(node):
            yield from visit(child, owner)

    return list(visit(tree, ""))


def _names_re(function: ast.expr) -> bool:
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    return function.value.id == "re" and function.attr in {*METHODS, "compile"}


def _list_assignments(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    if isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name) and node.value:
        yield node.value, node.target.id
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name):
            yield node.value, target.id
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for name, value in zip(target.elts, node.value.elts, strict=True):
                if isinstance(name, ast.Name):
                    yield value, name.id


def _find_methods(trees: Collection[ast.AST]) -> defaultdict[str, set[str]]:
    """Return the methods by which each variable is used as a pattern.

    A pattern that is an argument or in a list may be used by all methods that are called on other names, those of "".
    """
    variables = {variable for tree in trees for _, variable, _ in _find_calls(tree)} - {""}
    methods: defaultdict[str, set[str]] = defaultdict(set)
    passed_names: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and node.attr in METHODS:
            variable = _name_variable(node.value, variables)
            if variable or node.attr != "split":  # nearly always a method of a text
                methods[variable].add(node.attr)
        for child in ast.iter_child_nodes(node):
            if not isinstance(node, ast.Attribute) and (name := _name_variable(child, variables)):
                passed_names.add(name)
    for name in passed_names:
        methods[name] |= methods[""] or ANY_USE
    return methods


def _name_variable(node: ast.AST, variables: Set[str]) -> str:
    """Return the name that a node reads, if it is a pattern or `re`, else ""."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name if isinstance(getattr(node, "ctx", None), ast.Load) and name in {*variables, "re"} else ""


class _Escaped(ast.NodeTransformer):
    """Replaces each escaped text by a letter."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        escapes = isinstance(node.func, ast.Attribute) and node.func.attr == "escape"
        return ast.Constant("x") if escapes else node


def _read_constants(tree: ast.Module) -> dict[str, Any]:
    """Return the constant texts of a module, the texts that are joined from them, and `re`.

    Raises ValueError if `re` has another name, because its calls would be missed.
    """
    names: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"):
            raise ValueError(f"line {node.lineno}: write `import re`, so that its calls are found")
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name == "regex" or (alias.name == "re" and alias.asname):
                raise ValueError(f"line {node.lineno}: write `import re`, so that its calls are found")
            if alias.name == "re":
                names["re"] = re
    for node in tree.body:
        for value, name in _list_assignments(node):
            if all(isinstance(part, _TEXT_PARTS) for part in ast.walk(value)):
                with suppress(NameError, TypeError):
                    names[name] = _compute(value, names)
    return names


def _compute(value: ast.AST, names: dict[str, Any]) -> Any:
    return eval(compile(ast.fix_missing_locations(ast.Expression(_Escaped().visit(value))), "", "eval"), names)


def _evaluate(call: ast.Call, names: dict[str, Any]) -> tuple[str | None, int]:
    """Return the pattern and the flags of a call; None for a pattern with unknown names."""
    function = call.func.attr  # pyright: ignore[reportAttributeAccessIssue]
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    index = FLAGS_AT.get(function, 2)
    flags = keywords.get("flags") or (call.args[index] if len(call.args) > index else ast.Constant(0))
    try:
        text, flag = _compute(call.args[0], names), _compute(flags, names)
    except NameError:
        return None, 0
    return (text, int(flag)) if isinstance(text, str) else (None, 0)


def collect_apart(root: Path = ROOT, packages: Iterable[str] = PACKAGES) -> list[Use]:
    """Return the uses that `collect` returns in a separate process."""
    command = [sys.executable, "-m", "tests.patterns.source", str(root), *packages]
    paths = os.pathsep.join([str(root), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr[-2000:]
    return [Use(**fields) for fields in json.loads(result.stdout.splitlines()[-1])]


if __name__ == "__main__":
    print(json.dumps([asdict(use) for use in collect(Path(sys.argv[1]), sys.argv[2:])]))
