"""Edges from a file to the modules that it names as text: registries, tables of commands, `-m`, programs in strings."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.affected.edges import Edge
from tests.affected.facts import WORD, Mention
from tests.affected.rules import Rules
from tests.affected.tree import Tree


def find_text_edges(tree: Tree, rules: Rules) -> Iterator[Edge]:
    """Product code names a module by a string that is nothing else; tests, pages and scripts also inside programs."""
    for source, facts in tree.facts.items():
        is_product = rules.is_product(source)
        for mention in facts.mentions:
            if is_product and not mention.is_whole:
                continue
            for target, key in _resolve(mention, source, tree):
                if target != source:
                    yield Edge(source, target, "names", key if is_product else "")


def find_script_edges(tree: Tree, rules: Rules, root: Path) -> Iterator[Edge]:
    """From tests, pages and scripts that run a command of `[project.scripts]` to its module."""
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    for name, target in project.get("project", {}).get("scripts", {}).items():
        module = tree.find_module(target.partition(":")[0])
        for source, facts in tree.facts.items():
            if rules.is_product(source) or rules.is_silent(source):
                continue
            if module and name in facts.scripts and source != module:
                yield Edge(source, module, f"runs `{name}`")


def find_table_edges(tree: Tree, rules: Rules, edges: list[Edge]) -> Iterator[Edge]:
    """From tests that go through a registry's constant, as in `for name in TABLE`, to everything that it names."""
    tables = defaultdict(set)
    for edge in edges:
        if edge.key:
            tables[edge.source].add(edge.target)
    for source, facts in tree.facts.items():
        if rules.is_product(source):
            continue
        for name in facts.imports:
            module, _, constant = name.rpartition(".")
            if constant in facts.listed and (table := tree.paths.get(module)) in tables:
                for target in tables[table]:
                    yield Edge(source, target, f"goes through {constant}, with")


def _resolve(mention: Mention, source: str, tree: Tree) -> Iterator[tuple[str, str]]:
    """Paths of modules, each with the word that it is asked for by."""
    name = mention.name.partition(":")[0]
    key = mention.key.replace("-", "_") if WORD.fullmatch(mention.key) else ""
    if "{}" in name:
        pattern = re.compile(r"(\w+)".join(map(re.escape, name.split("{}"))))
        for module, path in tree.paths.items():
            if match := pattern.fullmatch(module):
                yield path, key or match[1]
    elif "." in name and (target := tree.find_module(name)):
        yield target, key
    elif mention.is_whole and ":" in mention.name and source in tree.modules:
        package = tree.modules[source]
        if not source.endswith("/__init__.py"):
            package = package.rpartition(".")[0]
        if path := tree.paths.get(f"{package}.{name}"):
            yield path, key
