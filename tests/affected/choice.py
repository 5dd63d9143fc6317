"""Choose the test files that a change can affect, each with its shortest chain."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.affected.edges import Edge
from tests.affected.graph import Graph
from tests.affected.rules import matches


@dataclass
class Choice:
    chains: dict[str, list[Edge]] = field(default_factory=dict)  #: by test file; empty for one that changed itself
    everything: list[str] = field(default_factory=list)  #: reasons to run all tests; empty if there are none


def choose_tests(graph: Graph, changed_files: Iterable[str]) -> Choice:
    """Choose the tests that the changed files, which are in the graph, can affect."""
    targets = set(changed_files)
    choice = Choice(_find_chains(graph, targets))
    reached_files = {chain[-1].target if chain else test for test, chain in choice.chains.items()}
    for path in sorted(targets):
        if _has_pattern(path, graph.rules.everything):
            choice.everything.append(f"{path} can touch every test")
        elif not (path in reached_files or _has_pattern(path, graph.rules.untested) or _find_chains(graph, {path}, 1)):
            choice.everything.append(f"no test is known to reach {path}")
    return choice


def _has_pattern(path: str, patterns: tuple[str, ...]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)


def reach(graph: Graph, test: str) -> set[str]:
    """Return every file that a test can depend on."""
    search = _Search(graph, test)
    search.run(set())
    return set(search.arrivals)


def _find_chains(graph: Graph, targets: set[str], at_most: int | None = None) -> dict[str, list[Edge]]:
    sources = graph.find_sources(targets)
    chains: dict[str, list[Edge]] = {}
    for test in graph.tests:
        if test in sources and (at_most is None or len(chains) < at_most):
            chain = _Search(graph, test).run(targets)
            if chain is not None:
                chains[test] = chain
    return chains


class _Search:
    """A breadth-first search from one test. An edge with a key is followed after the search has met the word."""

    def __init__(self, graph: Graph, test: str):
        self.arrivals: dict[str, Edge | None] = {test: None}  #: file to the first edge that reached it
        self._graph = graph
        self._pending = deque([test])
        self._words: set[str] = set()  #: words of tests, pages and scripts
        self._commands: set[str] = set()  #: words that can be commands
        self._lookups: set[str] = set()  #: strings of product code
        self._pending_edges: dict[str, list[Edge]] = defaultdict(list)  #: by a key that the search has not met

    def run(self, targets: set[str]) -> list[Edge] | None:
        """Return the chain to the first target that the search reaches; None if it reaches no target."""
        last: dict[str, Edge] = {}
        while self._pending:
            path = self._pending.popleft()
            if path in targets:
                return self._chain(path)
            self._meet(self._commands, self._graph.commands.get(path, frozenset()))
            self._meet(self._words, self._graph.words.get(path, frozenset()))
            self._meet(self._lookups, self._graph.lookups.get(path, frozenset()))
            for edge in self._graph.edges.get(path, ()):
                if edge.is_last:
                    last.setdefault(edge.target, edge)
                elif not edge.key or self._is_met(edge):
                    self._follow(edge)
                elif edge.target not in self.arrivals:
                    self._pending_edges[edge.key].append(edge)
        for target in sorted(targets & last.keys()):
            self.arrivals[target] = last[target]
            return self._chain(target)
        return None

    def _meet(self, met_words: set[str], words: frozenset[str]) -> None:
        for word in words - met_words:
            met_words.add(word)
            for edge in self._pending_edges.get(word, ()):
                if self._is_met(edge):
                    self._follow(edge)

    def _is_met(self, edge: Edge) -> bool:
        if edge.source in self._graph.rules.commands:
            return edge.key in self._commands
        return edge.key in self._words or edge.key in self._lookups

    def _follow(self, edge: Edge) -> None:
        if edge.target not in self.arrivals:
            self.arrivals[edge.target] = edge
            self._pending.append(edge.target)

    def _chain(self, path: str) -> list[Edge]:
        chain = []
        edge = self.arrivals[path]
        while edge is not None:
            chain.append(edge)
            edge = self.arrivals[edge.source]
        return chain[::-1]
