"""All edges of a checkout."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.affected.edges import Edge
from tests.affected.file_edges import find_file_edges, find_listing_edges
from tests.affected.fixture_edges import find_fixture_edges
from tests.affected.import_edges import find_import_edges, find_lazy_edges
from tests.affected.rules import Rules
from tests.affected.text_edges import find_script_edges, find_table_edges, find_text_edges
from tests.affected.tree import Tree, is_test


@dataclass(frozen=True)
class Graph:
    tree: Tree
    rules: Rules
    edges: dict[str, list[Edge]]  #: by their source

    @cached_property
    def tests(self) -> list[str]:
        return sorted(path for path in self.tree.facts if is_test(path))

    @cached_property
    def words(self) -> dict[str, frozenset[str]]:
        """The keys of tables that each test, page and script has among its words."""
        return {
            node: text.words & self._keys
            for node, text in self.tree.facts.items()
            if not self.rules.is_product(node) and not self.rules.is_silent(node)
        }

    @cached_property
    def commands(self) -> dict[str, frozenset[str]]:
        """Those keys that can be commands."""
        return {node: words & self.tree.facts[node].commands for node, words in self.words.items()}

    @cached_property
    def lookups(self) -> dict[str, frozenset[str]]:
        """The keys of tables that each file of product code has as strings, without the keys of its own tables."""
        return {
            node: text.literals & self._keys - {edge.key for edge in self.edges.get(node, ())}
            for node, text in self.tree.facts.items()
            if self.rules.is_product(node) and not self.rules.is_silent(node)
        }

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(edge.key for edges in self.edges.values() for edge in edges if edge.key)

    def find_sources(self, targets: set[str]) -> set[str]:
        """Return every file that can reach a target if all words are used."""
        sources: dict[str, set[str]] = defaultdict(set)
        for edges in self.edges.values():
            for edge in edges:
                sources[edge.target].add(edge.source)
        visited: set[str] = set()
        pending = set(targets)
        while pending:
            visited |= pending
            pending = {source for target in pending for source in sources[target]} - visited
        return visited


def build_graph(tree: Tree, rules: Rules, root: Path) -> Graph:
    edges = [
        *find_import_edges(tree),
        *find_text_edges(tree, rules),
        *find_script_edges(tree, rules, root),
        *find_file_edges(tree, rules),
        *find_listing_edges(tree, rules),
        *rules.add_edges(tree.facts),
    ]
    edges = [edge for edge in edges if rules.allows(edge)]
    edges += [*find_lazy_edges(tree, edges), *find_table_edges(tree, rules, edges)]
    graph = Graph(tree, rules, defaultdict(list))
    for edge in edges:
        graph.edges[edge.source].append(edge)
    for test in graph.tests:
        words = _find_own_words(test, graph)
        graph.edges[test] += [edge for edge in find_fixture_edges(test, words, tree) if rules.allows(edge)]
    return graph


def _find_own_words(test: str, graph: Graph) -> frozenset[str]:
    """Return the words of a test file and of the test files that it imports."""
    visited: set[str] = set()
    pending = {test}
    while pending:
        visited |= pending
        pending = {
            edge.target
            for path in pending
            for edge in graph.edges[path]
            if edge.target.startswith("tests/") and not edge.is_last
        } - visited
    facts = [graph.tree.facts[path] for path in visited]
    return frozenset(word for text in facts for word in text.identifiers | text.words)
