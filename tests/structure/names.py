"""Public functions whose name is a bare participle (`tidied`, `left_out`), or begins with one (`converted_rows`).

A heuristic by spelling. Functions and methods without a leading underscore count, nested functions do not. A name is a
bare participle if it is a single participle, also after an adverb (`partly_written`) or before particles (`held_out`);
it begins with a participle if its first word is one. A word is a participle when it ends in -ed or -ing, or is
irregular; participles.toml has the irregular ones and exceptions.

Properties and functions that return bool may have such names.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable
from pathlib import Path

from tests.structure.source import FunctionDefinition, Module, decorator_names, find_functions

_WORDS = tomllib.loads(Path(__file__).with_name("participles.toml").read_text(encoding="utf-8"))
IRREGULAR, EXCEPTIONS, PARTICLES = (frozenset(_WORDS[key].split()) for key in ("irregular", "exceptions", "particles"))


def find_participles(modules: list[Module]) -> list[str]:
    return _find_public(modules, is_bare_participle)


def find_leading_participles(modules: list[Module]) -> list[str]:
    return _find_public(modules, begins_with_participle)


def _find_public(modules: list[Module], matches: Callable[[str], bool]) -> list[str]:
    return [
        f"{function.location} {function.qualified_name}"
        for module in modules
        for function in find_functions(module)
        if is_public(function) and matches(function.node.name) and not asks_yes_or_no(function)
    ]


def is_public(function: FunctionDefinition) -> bool:
    """Return whether a function is public; methods of private classes are, because other modules get the objects."""
    is_nested = isinstance(function.scope, ast.FunctionDef | ast.AsyncFunctionDef)
    return not is_nested and not function.node.name.startswith("_")


def is_bare_participle(name: str) -> bool:
    words = name.split("_")
    while len(words) > 1 and words[-1] in PARTICLES:
        words.pop()
    while len(words) > 1 and words[0].endswith("ly"):
        words.pop(0)
    return len(words) == 1 and _is_participle(words[0])


def begins_with_participle(name: str) -> bool:
    return _is_participle(name.partition("_")[0])


def asks_yes_or_no(function: FunctionDefinition) -> bool:
    """Return whether a function is a property or returns bool."""
    if decorator_names(function.node) & {"property", "cached_property", "setter", "deleter"}:
        return True
    return function.node.returns is not None and ast.unparse(function.node.returns).strip("'\"") == "bool"


def _is_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith(("ed", "ing")) and word not in EXCEPTIONS)
