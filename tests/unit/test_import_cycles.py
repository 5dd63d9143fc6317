"""No file and no package of the product imports what imports it; imports for type checkers count."""

from __future__ import annotations

from pathlib import Path

import grimp
import pytest

from tests.structure.__main__ import FOLDERS
from tests.structure.circles import RUN, Circle, find_circles
from tests.structure.imports import Import, Kind, join_neighbours

#: How a module of another folder is imported.
STATEMENTS = {
    "with its module": "from {package}.high import caller\n",
    "in a function": "def call():\n    from {package}.high import caller\n",
    "for type checkers": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from {package}.high.caller import Caller\n"
    ),
}


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return read_imports(*FOLDERS)


def test_the_files_are_in_no_cycle(imports):
    cycles = find_circles(imports, RUN)
    assert len(cycles) == 0, describe(cycles)


def test_the_packages_are_in_no_cycle(imports):
    """Nor are a folder and a module beside it."""
    cycles = find_circles(join_neighbours(imports, FOLDERS), RUN)
    assert len(cycles) == 0, describe(cycles)


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_cycle_is_named(kind, tmp_path, monkeypatch):
    """A cycle of folders is not always a cycle of files."""
    package = f"cyclic_{list(STATEMENTS).index(kind)}"
    back = STATEMENTS[kind].format(package=package)
    files = {
        "__init__.py": "",
        "low/__init__.py": "",
        "low/tool.py": "",
        "low/answer.py": back,
        "high/__init__.py": "",
        "high/caller.py": f"from {package}.low import tool\n",
    }
    write_files(tmp_path / package, files)
    monkeypatch.syspath_prepend(tmp_path)
    assert find_circles(read_imports(package), RUN) == []
    (cycle,) = find_circles(join_neighbours(read_imports(package), FOLDERS), RUN)
    assert cycle.members == [f"{package}.high", f"{package}.low"]
    assert f"{package}.low -> {package}.high: {package}.low.answer, line " in describe([cycle])

    write_files(tmp_path / package, {"low/tool.py": back})
    (cycle,) = find_circles(read_imports(package), RUN)
    assert cycle.members == [f"{package}.high.caller", f"{package}.low.tool"]


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def read_imports(*packages: str) -> list[Import]:
    """Every import of the packages by themselves, inside functions and for type checkers, too."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=False, cache_dir=None)
    return [
        Import(module, imported, Kind.MODULE, f"{module}, line {detail['line_number']}")
        for module in sorted(graph.modules)
        for imported in sorted(graph.find_modules_directly_imported_by(module))
        for detail in graph.get_import_details(importer=module, imported=imported)
    ]


def describe(cycles: list[Circle]) -> str:
    """Each cycle with its members, and below it where each imports another."""
    lines = [f"Cycles of imports: {len(cycles)}. Move what both sides need into a third file."]
    for cycle in cycles:
        lines.append(f"{len(cycle.members)} import each other: {', '.join(cycle.members)}")
        lines += [f"    {importer} -> {imported}: {places[0]}" for importer, imported, places in cycle.arrows]
    return "\n".join(lines)
