"""Edges from a test file to the fixtures of its folders that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.affected.edges import Edge
from tests.affected.facts import ANY_FIXTURE
from tests.affected.tree import PART, Tree


def find_fixture_edges(test: str, words: frozenset[str], tree: Tree) -> Iterator[Edge]:
    """`words`: identifiers and words of the test file, and of what it uses of other test files."""
    fixtures: dict[str, str] = {}  #: name to the part of a conftest.py or plugin
    used: set[str] = set()
    for path in _find_conftests(test, tree):
        plugins = [tree.paths[name] for name in tree.facts[path].plugins if name in tree.paths]
        for source in (*plugins, path):
            yield Edge(test, source, "is set up by", is_last=True)
            fixtures |= _find_fixtures(source, tree)
            used |= tree.facts[source].automatic
    pending = used | _find_used(words, fixtures)
    used = set()
    while pending:
        used |= pending
        pending = {
            fixture for name in pending for fixture in _find_used(_find_all_words(fixtures[name], tree), fixtures)
        } - used
    for name in sorted(used):
        yield Edge(test, fixtures[name], "uses the fixture")


def _find_all_words(node: str, tree: Tree) -> frozenset[str]:
    return tree.facts[node].identifiers | tree.facts[node].words


def _find_used(words: frozenset[str], fixtures: dict[str, str]) -> set[str]:
    return set(fixtures) if ANY_FIXTURE in words else fixtures.keys() & words


def _find_conftests(test: str, tree: Tree) -> list[str]:
    """From the outermost folder inwards."""
    folders = [parent.as_posix() for parent in PurePosixPath(test).parents][::-1]
    return [path for folder in folders if (path := f"{folder}/conftest.py") in tree.facts]


def _find_fixtures(path: str, tree: Tree) -> dict[str, str]:
    """The parts of a conftest.py or plugin, and what it imports of another conftest.py."""
    fixtures = {}
    for name in tree.facts[path].imports:
        target = tree.find_module(name)
        if target and "/conftest.py" in target and PART in target:
            fixtures[name.rpartition(".")[2]] = target
    return fixtures | {name: f"{path}{PART}{name}" for name in tree.facts[path].parts}
