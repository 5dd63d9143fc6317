"""Pairs of small trees for the tests of the tool that verifies renamings."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tests.structure.rename_only.mapping import read_mapping
from tests.structure.rename_only.trees import Report, compare_trees

Tree = str | dict[str, str]  #: one file `a.py`, or several by path


def compare_texts(folder: Path, old: Tree, new: Tree, mapping: str = "") -> Report:
    """Write two trees and a mapping into a folder, and compare them."""
    write_tree(folder / "old", old)
    write_tree(folder / "new", new)
    (folder / "map").write_text(mapping)
    return compare_trees(folder / "old", folder / "new", read_mapping(folder / "map"))


def write_tree(root: Path, tree: Tree) -> None:
    for name, text in ({"a.py": tree} if isinstance(tree, str) else tree).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(dedent(text))
