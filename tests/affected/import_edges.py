"""Edges of import statements, also those inside functions, but not those for type checkers only."""

from __future__ import annotations

from collections.abc import Iterator

from tests.affected.edges import Edge
from tests.affected.tree import PART, Tree, file_of


def find_import_edges(tree: Tree) -> Iterator[Edge]:
    """Yield the imports of each module, and its packages. Tests depend on single names of their helpers."""
    for node, facts in tree.facts.items():
        module = tree.modules.get(file_of(node))
        if PART in node:
            yield Edge(node, file_of(node), "is part of", is_last=True)
        elif module and (package := tree.paths.get(module.rpartition(".")[0])):
            yield Edge(node, package, "lies in")
        if module in tree.imports and not node.startswith("tests/"):
            for target_module in tree.imports[module]:
                if target_module in tree.paths:
                    yield Edge(node, tree.paths[target_module], "imports")
        else:
            for name in facts.imports:
                if target := tree.find_module(name):
                    yield Edge(node, target, "imports")


def find_lazy_edges(tree: Tree, edges: list[Edge]) -> Iterator[Edge]:
    """Yield edges through packages that import on demand (`__getattr__`) to the modules of the names in use."""
    for package, path in tree.paths.items():
        targets = {
            tree.paths[f"{package}.{module}"]: {name.replace("-", "_") for name in names}
            for module, names in tree.facts[path].lazy_names.items()
            if f"{package}.{module}" in tree.paths
        }
        if not targets:
            continue
        known_names = {name for names in targets.values() for name in names}
        for source in {edge.source for edge in edges if edge.target == path and edge.reason != "lies in"}:
            facts = tree.facts[source]
            imported_names = {name for name in facts.imports if name.rpartition(".")[0] == package} - tree.paths.keys()
            unknown = {name.rpartition(".")[2] for name in imported_names} - known_names
            for target, names in targets.items():
                if unknown or names & (facts.identifiers | facts.words):
                    yield Edge(source, target, f"takes from {package}")
