"""Class names that are defined more than once at the top level of modules."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.structure.source import Module


def find_repeated_classes(modules: list[Module], private: bool) -> dict[str, list[str]]:
    """Return the locations of each name that several classes have.

    `private`: include names with a leading underscore.
    """
    locations = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and (private or not node.name.startswith("_")):
                locations[node.name].append(f"{module.path}:{node.lineno}")
    return {name: class_locations for name, class_locations in sorted(locations.items()) if len(class_locations) > 1}
