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
    """Yield an edge to a data file from each file that has its name, or the name of a folder around it, in a string.

    A file that names one file of a folder does not read the other files, unless it lists files by a pattern that they
    match. Product code reads only files of the product, and no whole folder that contains code. Tests that name a
    file of code read its text.
    """
    for source, facts in tree.facts.items():
        if rules.is_silent(source):
            continue
        is_product = rules.is_product(source)
        paths = {path.rpartition("/")[2] for path in facts.file_paths}
        names = (facts.file_names | paths) - {"__init__.py"}
        named_files = {target for name in names for target in tree.file_names.get(name, ()) if target != source}
        for target in named_files:
            if not is_data(target, tree):
                if is_python(source) and not is_product:
                    yield Edge(source, target, "reads", is_last=True)
            elif _can_read(source, target, rules):
                yield Edge(source, target, "reads")
        if is_python(source):
            yield from _find_folder_edges(source, paths, named_files, tree, rules)


def _find_folder_edges(
    source: str, folders: set[str], named_files: set[str], tree: Tree, rules: Rules
) -> Iterator[Edge]:
    facts = tree.facts[source]
    for folder in folders:
        files = tree.folders.get(folder, [])
        for target in files:
            if not is_data(target, tree) or not _can_read(source, target, rules):
                continue
            if rules.is_product(source) and _find_folder(target, folder) in tree.package_folders:
                continue
            if _matches(target, facts) if facts.patterns else named_files.isdisjoint(files):
                yield Edge(source, target, f"reads the folder {folder}", is_last=not facts.patterns)


def _find_folder(path: str, name: str) -> str:
    """Return the path of the folder of that name around a file."""
    above = f"/{path}".rpartition(f"/{name}/")[0]
    return f"{above}/{name}".removeprefix("/")


def find_listing_edges(tree: Tree, rules: Rules) -> Iterator[Edge]:
    """Yield edges from tests that list the files of a top-level folder, or of the folder of a module, to its code."""
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
    """Return whether a file is data. An example outside of any package is data: tests read it and do not import it."""
    return not path.endswith(".py") or tree.modules.get(path) not in tree.imports


def is_python(node: str) -> bool:
    return node.partition(PART)[0].endswith(".py")


def _can_read(source: str, target: str, rules: Rules) -> bool:
    """Return whether the source can read the target. A page or script that names a page does not read it."""
    if source == target or (target.endswith(".md") and not is_python(source)):
        return False
    return rules.is_product(target) or not rules.is_product(source)


def _find_listed_folders(source: str, tree: Tree) -> set[str]:
    facts = tree.facts[source]
    folders = set(facts.file_paths & tree.package_folders)
    for name in facts.imports:
        if name.rpartition(".")[2] in facts.located and (path := tree.find_module(name)):
            folders.add(PurePosixPath(path).parent.as_posix())
    return folders
