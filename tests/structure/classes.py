"""Class names with two meanings: one name defined more than once at the top level of modules."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.structure.source import Module


def find_repeated_classes(modules: list[Module], private: bool) -> dict[str, list[str]]:
    """The places of each name that several classes have; `private`: names with a leading underscore, too."""
    places = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and (private or not node.name.startswith("_")):
                places[node.name].append(f"{module.path}:{node.lineno}")
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}
