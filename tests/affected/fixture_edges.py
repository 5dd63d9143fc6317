"""Edges from a test file to the fixtures of its folders that it uses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.affected.edges import Edge
from tests.affected.facts import ANY_FIXTURE
from tests.affected.tree import PART, Tree


def find_fixture_edges(test: str, words: frozenset[str], tree: Tree) -> Iterator[Edge]:
    """Yield the edges of a test file.

    `words`: its identifiers and words, and those of the test files that it imports.
    """
    fixtures: dict[str, str] = {}  #: name to the part of a conftest.py or plugin
    used_names: set[str] = set()
    for path in _find_conftests(test, tree):
        plugins = [tree.paths[name] for name in tree.facts[path].plugins if name in tree.paths]
        for source in (*plugins, path):
            yield Edge(test, source, "is set up by", is_last=True)
            fixtures |= _find_fixtures(source, tree)
            used_names |= tree.facts[source].automatic
    pending = used_names | _select_fixtures(words, fixtures)
    used_names = set()
    while pending:
        used_names |= pending
        pending = {
            fixture for name in pending for fixture in _select_fixtures(_find_all_words(fixtures[name], tree), fixtures)
        } - used_names
    for name in sorted(used_names):
        yield Edge(test, fixtures[name], "uses the fixture")


def _find_all_words(node: str, tree: Tree) -> frozenset[str]:
    return tree.facts[node].identifiers | tree.facts[node].words


def _select_fixtures(words: frozenset[str], fixtures: dict[str, str]) -> set[str]:
    return set(fixtures) if ANY_FIXTURE in words else fixtures.keys() & words


def _find_conftests(test: str, tree: Tree) -> list[str]:
    """Return the paths of conftest.py files, from the outermost folder inwards."""
    folders = [parent.as_posix() for parent in PurePosixPath(test).parents][::-1]
    return [path for folder in folders if (path := f"{folder}/conftest.py") in tree.facts]


def _find_fixtures(path: str, tree: Tree) -> dict[str, str]:
    """Return the parts of a conftest.py or plugin, and the names that it imports from another conftest.py."""
    fixtures = {}
    for name in tree.facts[path].imports:
        target = tree.find_module(name)
        if target and "/conftest.py" in target and PART in target:
            fixtures[name.rpartition(".")[2]] = target
    return fixtures | {name: f"{path}{PART}{name}" for name in tree.facts[path].parts}
