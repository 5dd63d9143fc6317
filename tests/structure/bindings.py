"""Names that are bound by assignment: how many say nothing about what they hold, and how many are general nouns.

A binding is a name that is stored: by an assignment, a loop, a comprehension, `with` or a walrus, each occurrence once.
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
    """Each name that is bound, and its place."""
    return [
        (node.id, f"{module.path}:{node.lineno}")
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def select_bindings(bindings: list[tuple[str, str]], words: frozenset[str]) -> list[str]:
    """The place and name of each binding whose whole name is one of the words."""
    return [f"{place} {name}" for name, place in bindings if name in words]
