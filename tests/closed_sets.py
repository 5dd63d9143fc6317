"""Finds literals of closed sets: text constants in code that should be members of a StrEnum.

A constant counts where it is compared with, passed as, stored in or returned as a value of the set. Names decide that:
`kind == "train"`, `Job(kind="train")`, `row["kind"] = "train"`. A list, a set or the keys of a dictionary count if all
of them are values of one set, and a value that nothing else is called counts everywhere.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ClosedSet:
    """A StrEnum, and the names of variables, fields, keys, columns, parameters and properties that hold its values."""

    enum: type[StrEnum]
    names: frozenset[str]
    unique: frozenset[str] = frozenset()  #: values that mean nothing else in the product: no constant may be one

    @property
    def values(self) -> frozenset[str]:
        return frozenset(map(str, self.enum))


class Literal(NamedTuple):
    """A constant that should be a member."""

    path: str
    line: int
    enum: str
    value: str


#: For a function's name, the names of its parameters in order, without `self`.
Signatures = Mapping[str, set[tuple[str, ...]]]


def find_literals(root: Path, folders: Iterable[str], sets: Iterable[ClosedSet]) -> list[Literal]:
    """Return the literals of the sets in the Python files of folders below `root`, in order."""
    files = sorted(file for folder in folders for file in (root / folder).rglob("*.py"))
    trees = {str(file.relative_to(root)): ast.parse(file.read_text()) for file in files}
    signatures = _read_signatures(trees.values())
    return sorted(
        literal
        for path, tree in trees.items()
        for closed_set in sets
        for literal in _find_in_file(path, tree, closed_set, signatures)
    )


def _find_in_file(path: str, tree: ast.Module, closed_set: ClosedSet, signatures: Signatures) -> set[Literal]:
    name = closed_set.enum.__name__
    return {Literal(path, node.lineno, name, str(node.value)) for node in find_nodes(tree, closed_set, signatures)}


def find_nodes(tree: ast.Module, closed_set: ClosedSet, signatures: Signatures) -> Iterator[ast.Constant]:
    """Yield the constants of a file that should be members of the set's enum, some of them more than once."""
    excepted = set(map(id, [*_documentation(tree), *_members_of_enums(tree)]))
    constants = [*_in_context(tree, closed_set, signatures), *_collections(tree, closed_set.values)]
    constants += [node for node in _texts(ast.walk(tree)) if node.value in closed_set.unique]
    yield from (node for node in constants if node.value in closed_set.values and id(node) not in excepted)


def _documentation(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield docstrings and other texts that are statements, and texts in annotations such as Literal["a"]."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield from _texts([node.value])


def _members_of_enums(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and {"StrEnum", "TextEnum"} & set(map(_name_of, node.bases)):
            yield from _texts(ast.walk(node))


def _in_context(tree: ast.Module, closed_set: ClosedSet, signatures: Signatures) -> Iterator[ast.Constant]:
    """Yield the constants where a name of the set, or an annotation with its enum, says that they are its values."""
    names, enum_name = closed_set.names, closed_set.enum.__name__
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=comparators):
                sides = [left, *comparators]
                for side, other in [*pairwise(sides), *pairwise(sides[::-1])]:
                    yield from _find_compared(side, other, names)
            case ast.Match(subject=subject, cases=cases):
                for case in cases:
                    yield from _matched(subject, case.pattern, names)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                yield from _texts(leaf for word in keywords if word.arg in names for leaf in _leaves(word.value))
                for parameters in signatures.get(_name_of(function) or "", ()):
                    pairs = zip(parameters, arguments, strict=False)
                    yield from _texts(leaf for name, value in pairs if name in names for leaf in _leaves(value))
                if _name_of(function) in names:  # a method of a column: `JobRow.kind.in_(…)` has its own case
                    yield from _texts(leaf for value in arguments for leaf in _leaves(value))
                if isinstance(function, ast.Attribute) and _name_of(function.value) in names:
                    yield from _texts(leaf for value in arguments for leaf in _leaves(value))
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _find_compared(target, value, names)
            case ast.AnnAssign(target=target, annotation=annotation, value=ast.expr() as value):
                if _name_of(target) in names or _mentions(annotation, enum_name):
                    yield from _texts(_leaves(value))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value in names:
                        yield from _texts(_leaves(value))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _texts(_in_function(node, names, enum_name))


def _in_function(
    function: ast.FunctionDef | ast.AsyncFunctionDef, names: frozenset[str], enum_name: str
) -> Iterator[ast.expr]:
    """Yield the defaults of a function's parameters, and what it returns, where these are values of the set."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args]
    defaults = [*zip(parameters[::-1], arguments.defaults[::-1], strict=False)]
    defaults += [pair for pair in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if pair[1]]
    for parameter, default in defaults:
        if parameter.arg in names or (parameter.annotation and _mentions(parameter.annotation, enum_name)):
            yield from _leaves(default)
    if function.name in names or (function.returns and _mentions(function.returns, enum_name)):
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value:
                yield from _leaves(node.value)


def _find_compared(side: ast.expr, other: ast.expr, names: frozenset[str]) -> Iterator[ast.Constant]:
    """Yield the constants of `other`, which is compared with or stored in `side`; tuples are compared by element."""
    if isinstance(side, ast.Tuple) and isinstance(other, ast.Tuple) and len(side.elts) == len(other.elts):
        for element, other_element in zip(side.elts, other.elts, strict=True):
            yield from _find_compared(element, other_element, names)
    elif _name_of(side) in names:
        yield from _texts(_leaves(other))


def _matched(subject: ast.expr, pattern: ast.pattern, names: frozenset[str]) -> Iterator[ast.Constant]:
    if isinstance(subject, ast.Tuple) and isinstance(pattern, ast.MatchSequence):
        for element, part in zip(subject.elts, pattern.patterns, strict=False):
            yield from _matched(element, part, names)
    elif _name_of(subject) in names:
        yield from _texts(node.value for node in ast.walk(pattern) if isinstance(node, ast.MatchValue))


def _collections(tree: ast.Module, values: frozenset[str]) -> Iterator[ast.Constant]:
    """Yield the elements of lists, tuples and sets, and the keys of dictionaries, with two values of the set or more.

    All of them are values of the set.
    """
    for node in ast.walk(tree):
        elements = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else []
        elements = node.keys if isinstance(node, ast.Dict) else elements
        texts = [*_texts(element for element in elements if element)]
        if len(texts) == len(elements) and len(own_values := {text.value for text in texts}) > 1:
            yield from texts if own_values <= values else ()


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the values that an expression may have, such as `a` and `b` of `"a" if x else "b"`.

    Of a collection these are its elements, of a dictionary its keys.
    """
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*_leaves(body), *_leaves(orelse))
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
            for value in values:
                yield from _leaves(value)
        case ast.Dict(keys=keys):
            yield from (key for key in keys if key)
        case _:
            yield node


def _texts(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    return (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


def _mentions(annotation: ast.expr, enum_name: str) -> bool:
    return any(_name_of(node) == enum_name for node in ast.walk(annotation) if isinstance(node, ast.expr))


def _name_of(node: ast.expr | None) -> str | None:
    """Return the last name of an expression: `kind` for `job.kind`, `row["kind"]`, `row.get("kind")` and `kind()`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[ast.Constant(value=str(name)), *_]):
            return name
        case ast.Call(func=function):
            return _name_of(function)
    return None


def _read_signatures(trees: Iterable[ast.Module]) -> Signatures:
    """Return the parameters of functions, and the fields of classes, which are parameters of their constructors."""
    signatures: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
                signatures[node.name].add(tuple(names[1:] if names[:1] in (["self"], ["cls"]) else names))
            elif isinstance(node, ast.ClassDef):
                signatures[node.name].add(tuple(_constructor_parameters(node)))
    return signatures


def _constructor_parameters(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            yield from (argument.arg for argument in statement.args.args[1:])
            return
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id
