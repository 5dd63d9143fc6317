"""Names that are bound by assignment: how many do not describe the value, and how many are general nouns.

A binding is one occurrence of a name in an assignment, a loop, a comprehension, a `with` or a walrus.
Parameters, attributes, imports and names of exceptions are not counted. words.toml has the words.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from tests.structure.source import Module

_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
EMPTY, GENERAL = (frozenset(_WORDS[key].split()) for key in ("empty", "general"))


def find_bindings(modules: list[Module]) -> list[tuple[str, str]]:
    """Return each bound name with its location."""
    return [
        (node.id, f"{module.path}:{node.lineno}")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def select_bindings(bindings: list[tuple[str, str]], words: frozenset[str]) -> list[str]:
    """Return the location and name of each binding whose whole name is one of the words."""
    return [f"{location} {name}" for name, location in bindings if name in words]
