"""The facts of a Python file, from its syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from tests.affected.facts import (
    ANY_FIXTURE,
    DOTTED,
    SCRIPT,
    Facts,
    Mention,
    find_commands,
    find_embedded_mentions,
    find_file_names,
    find_words,
    is_path,
)
from tests.affected.parts import find_automatic, find_parts, find_plugins

_NAME = re.compile(r"[\w-]+")
_RELATIVE = re.compile(r"[a-z_]\w*(?:\.\w+)*:\w+")
_GLOBS = {"glob", "rglob", "iglob"}
_LOOKUPS = {"find", "get", "is_built_in", "knows", "load", "plugin"}
_LISTS = {"iterdir", "listdir", "scandir", "walk"}
_PREFIX = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*\.")


def read_python_facts(text: str, has_parts: bool = False) -> Facts:
    """Return the facts of a Python file. `has_parts`: also of each of its names. Raises SyntaxError."""
    tree = ast.parse(text)
    facts = _read_facts(tree)
    if not has_parts:
        return facts
    parts = {name: _read_facts(part) for name, part in find_parts(tree)}
    return replace(facts, parts=parts, automatic=frozenset(find_automatic(tree)), plugins=frozenset(find_plugins(tree)))


def _read_facts(tree: ast.Module) -> Facts:
    reader = _Reader(tree)
    strings = [mention.name for mention in reader.strings]
    return Facts(
        mentions=tuple(set(_find_mentions(reader))),
        identifiers=frozenset(reader.identifiers),
        words=frozenset(find_words(strings)),
        commands=frozenset(find_commands(strings)),
        literals=frozenset(string.replace("-", "_") for string in strings if _NAME.fullmatch(string)),
        file_paths=frozenset(string.rstrip("/") for string in strings if is_path(string)),
        file_names=frozenset(name for string in strings for name in find_file_names(string)),
        scripts=frozenset(script for string in strings for script in SCRIPT.findall(string)),
        imports=frozenset(_find_imports(tree)),
        patterns=frozenset(_find_patterns(reader)),
        listed=frozenset(name for name in reader.listed if name.isupper()),
        located=frozenset(reader.located),
        lazy_names=_find_lazy_names(tree),
    )


class _Reader(ast.NodeVisitor):
    """Collects identifiers, and strings with their dictionary keys. Docstrings do not count."""

    def __init__(self, tree: ast.Module):
        self.strings: list[Mention] = []
        self.identifiers: set[str] = set()
        self.listed: set[str] = set()
        self.located: set[str] = set()
        self._docstrings = {id(node) for node in _find_docstrings(tree)}
        self._constants = dict(_find_constants(tree))
        self._table_keys = dict(_find_table_keys(tree))
        self._key = ""
        for statement in tree.body:
            # A table that is a value of another table has its key there.
            self._key = self._table_keys.get(_target_of(statement), "")
            self._is_inner = bool(self._key)
            self.visit(statement)

    def _add_string(self, text: str) -> None:
        self.strings.append(Mention(text.encode(errors="replace").decode(), self._key))  # JSON has no lone surrogates

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and id(node) not in self._docstrings:
            self._add_string(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        parts = []
        for value in node.values:
            if isinstance(value, ast.Constant):
                parts.append(str(value.value))
            else:
                self.visit(value)
                hole = value.value if isinstance(value, ast.FormattedValue) else value
                parts.append(self._constants.get(hole.id, "{}") if isinstance(hole, ast.Name) else "{}")
        self._add_string("".join(parts))

    def visit_Dict(self, node: ast.Dict) -> None:
        outer = self._key
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                self.visit(key)
            if not self._is_inner and isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._key = key.value
            self.visit(value)
            self._key = outer

    def visit_Name(self, node: ast.Name) -> None:
        self.identifiers.add(node.id)
        self.listed.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.identifiers.add(node.attr)
        if node.attr == "__file__" and isinstance(node.value, ast.Name):
            self.located.add(node.value.id)
        self._visit_looked_up(node.value, node.attr in _LOOKUPS)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._visit_looked_up(node.value)
        self.visit(node.slice)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit(node.left)
        for operator, value in zip(node.ops, node.comparators, strict=True):
            self._visit_looked_up(value, isinstance(operator, ast.In | ast.NotIn))

    def _visit_looked_up(self, node: ast.expr, is_lookup: bool = True) -> None:
        """Visit a table; one in which a name is looked up is not listed."""
        if is_lookup and isinstance(node, ast.Name):
            self.identifiers.add(node.id)
        else:
            self.visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        self.identifiers.update(node.name.split("."))

    def visit_Call(self, node: ast.Call) -> None:
        if _asks_for_any_fixture(node):
            self.identifiers.add(ANY_FIXTURE)
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self.identifiers.add(node.arg)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg:
            self.identifiers.add(node.arg)
        self.generic_visit(node)


def _find_mentions(reader: _Reader) -> Iterator[Mention]:
    for string in reader.strings:
        text = string.name
        if DOTTED.fullmatch(text) or _RELATIVE.fullmatch(text):
            yield string
        elif _PREFIX.fullmatch(text):
            yield Mention(f"{text}{{}}", string.key)
        elif "." in text or "import" in text:
            yield from find_embedded_mentions(text)


def _asks_for_any_fixture(node: ast.Call) -> bool:
    """Whether a call is `getfixturevalue(...)` with a name that is computed."""
    return (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "getfixturevalue"
        and not all(isinstance(argument, ast.Constant) for argument in node.args)
    )


def _find_patterns(reader: _Reader) -> Iterator[str]:
    """Yield the patterns of a file; an f-string such as `{name}.py` is a pattern, too."""
    names = {mention.name.rpartition("/")[2] for mention in reader.strings if is_path(mention.name)}
    yield from (name.replace("{}", "*") for name in names if "{}" in name and "." in name)
    if not _GLOBS.isdisjoint(reader.identifiers):
        yield from {name for name in names if "*" in name} or {"*"}
    if not _LISTS.isdisjoint(reader.identifiers):
        yield "*"


def _find_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _find_docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def _find_constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of the module that are strings: f-strings make names of modules from them."""
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            pairs = [(target, statement.value)]
            if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                pairs = list(zip(target.elts, statement.value.elts, strict=False))
            for name, value in pairs:
                if isinstance(name, ast.Name) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield name.id, value.value


def _find_table_keys(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names of the module that are values of a dictionary, with their keys: `COMMANDS = {"data": DATA}`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(value, ast.Name) and isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield value.id, key.value


def _find_lazy_names(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Return the keys of the dictionaries of a module with `__getattr__`, each with the strings of its value."""
    if not any(isinstance(node, ast.FunctionDef) and node.name == "__getattr__" for node in tree.body):
        return {}
    return {
        key.value: tuple(
            node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        for table in ast.walk(tree)
        if isinstance(table, ast.Dict)
        for key, value in zip(table.keys, table.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _target_of(statement: ast.stmt) -> str:
    """Return the name that a statement assigns to; '' if it assigns to none or several."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return ""
    return target.id if isinstance(target, ast.Name) else ""
