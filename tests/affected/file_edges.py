"""Edges from a file to the data files that it reads: templates, pages, tables, model folders, examples."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tests.affected.edges import Edge
from tests.affected.facts import Facts
from tests.affected.rules import Rules
from tests.affected.tree import PART, Tree


def find_file_edges(tree: Tree, rules: Rules) -> Iterator[Edge]:
    """A data file is read by who has its name in a string, or the name of a folder that it lies in.

    Who names a file of a folder does not read the others, unless it lists files by a pattern that they match.
    """
    for source, facts in tree.facts.items():
        is_product = rules.is_product(source)
        named = {
            target
            for name in facts.file_names | {path.rpartition("/")[2] for path in facts.file_paths}
            for target in tree.file_names.get(name, ())
            if is_data(target, tree) and _can_read(source, target, is_product, rules)
        }
        yield from (Edge(source, target, "reads") for target in named)
        if not source.endswith(".py") and PART not in source:
            continue
        for folder in {path.rpartition("/")[2] for path in facts.file_paths}:
            files = tree.folders.get(folder, [])
            for target in files:
                if source == target or not is_data(target, tree) or (is_product and not rules.is_product(target)):
                    continue
                if _matches(target, facts) if facts.patterns else named.isdisjoint(files):
                    yield Edge(source, target, f"reads the folder {folder}", is_last=not facts.patterns)


def find_listing_edges(tree: Tree, rules: Rules) -> Iterator[Edge]:
    """From tests that list the files of a folder at the top, or of the folder of a module, to the code in it."""
    for source, facts in tree.facts.items():
        if rules.is_product(source) or not facts.patterns:
            continue
        for folder in _find_listed_folders(source, tree):
            for target in tree.facts:
                if target.startswith(f"{folder}/") and target != source and _matches(target, facts):
                    yield Edge(source, target, f"lists the folder {folder}", is_last=True)


def _matches(path: str, facts: Facts) -> bool:
    name = PurePosixPath(path).name
    return any(fnmatchcase(name, pattern) for pattern in facts.patterns)


def is_data(path: str, tree: Tree) -> bool:
    """Whether a file is read, not imported: an example that is no part of a package is read, too."""
    return not path.endswith(".py") or tree.modules.get(path) not in tree.imports


def _can_read(source: str, target: str, is_product: bool, rules: Rules) -> bool:
    """What is installed reads what is installed with it. A page or script that names a page does not read it."""
    if source == target or (target.endswith(".md") and not source.partition(PART)[0].endswith(".py")):
        return False
    return rules.is_shipped(target) if is_product else True


def _find_listed_folders(source: str, tree: Tree) -> set[str]:
    facts = tree.facts[source]
    folders = set(facts.file_paths & tree.package_folders)
    for name in facts.imports:
        if name.rpartition(".")[2] in facts.located and (path := tree.find_module(name)):
            folders.add(PurePosixPath(path).parent.as_posix())
    return folders
