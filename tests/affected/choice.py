"""Which test files a change can touch, each with its shortest chain."""

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
    everything: list[str] = field(default_factory=list)  #: why all tests are to run; empty if they are not


def choose_tests(graph: Graph, changed: Iterable[str]) -> Choice:
    """`changed`: paths of files that the graph has."""
    targets = set(changed)
    choice = Choice(_find_chains(graph, targets))
    reached = {chain[-1].target if chain else test for test, chain in choice.chains.items()}
    for path in sorted(targets):
        if _has_pattern(path, graph.rules.everything):
            choice.everything.append(f"{path} can touch every test")
        elif not (path in reached or _has_pattern(path, graph.rules.untested) or _find_chains(graph, {path}, 1)):
            choice.everything.append(f"no test is known to reach {path}")
    return choice


def _has_pattern(path: str, patterns: tuple[str, ...]) -> bool:
    return any(matches(path, pattern) for pattern in patterns)


def reach(graph: Graph, test: str) -> set[str]:
    """Every file that a test can depend on."""
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
    """A search in breadth from one test. An edge with a key is followed once its word has been met."""

    def __init__(self, graph: Graph, test: str):
        self.arrivals: dict[str, Edge | None] = {test: None}  #: file to the edge that it was reached by first
        self._graph = graph
        self._pending = deque([test])
        self._said: set[str] = set()  #: words of tests, pages and scripts
        self._commanded: set[str] = set()  #: those that can be commands
        self._looked_up: set[str] = set()  #: strings of product code
        self._waiting: dict[str, list[Edge]] = defaultdict(list)  #: by the key that was not met yet

    def run(self, targets: set[str]) -> list[Edge] | None:
        """The chain to the first target that is reached; None if none is."""
        last: dict[str, Edge] = {}
        while self._pending:
            path = self._pending.popleft()
            if path in targets:
                return self._chain(path)
            self._meet(self._commanded, self._graph.commanded.get(path, frozenset()))
            self._meet(self._said, self._graph.said.get(path, frozenset()))
            self._meet(self._looked_up, self._graph.looked_up.get(path, frozenset()))
            for edge in self._graph.edges.get(path, ()):
                if edge.is_last:
                    last.setdefault(edge.target, edge)
                elif not edge.key or self._is_met(edge):
                    self._follow(edge)
                elif edge.target not in self.arrivals:
                    self._waiting[edge.key].append(edge)
        for target in sorted(targets & last.keys()):
            self.arrivals[target] = last[target]
            return self._chain(target)
        return None

    def _meet(self, met_words: set[str], words: frozenset[str]) -> None:
        for word in words - met_words:
            met_words.add(word)
            for edge in self._waiting.get(word, ()):
                if self._is_met(edge):
                    self._follow(edge)

    def _is_met(self, edge: Edge) -> bool:
        if edge.source in self._graph.rules.commands:
            return edge.key in self._commanded
        return edge.key in self._said or edge.key in self._looked_up

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
