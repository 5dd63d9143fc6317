"""Read the groups of modules that are mutated, with the tests of each."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = Path(__file__).with_name("groups.toml")


@dataclass(frozen=True, slots=True)
class Group:
    """Modules whose mutants are tested by the same test files. All paths are relative to the repository."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]
    whole: bool  #: whether every mutant is tested, instead of a sample


def read_groups(table: Path = TABLE, root: Path = ROOT) -> list[Group]:
    """Return the groups of the table, with the files of its patterns.

    Raises ValueError for a pattern without files, and for a module in two groups.
    """
    groups = [
        Group(name, _list_files(root, of["modules"]), _list_files(root, of["tests"]), of.get("whole", False))
        for name, of in tomllib.loads(table.read_text()).items()
    ]
    owner: dict[str, str] = {}
    for group in groups:
        for module in group.modules:
            if owner.setdefault(module, group.name) != group.name:
                raise ValueError(f"{table.name}: {module} stands in [{owner[module]}] and [{group.name}]; take one out")
    return groups


def choose_modules(groups: Sequence[Group], modules: Sequence[str]) -> list[Group]:
    """Return the groups with these modules alone, or all groups if there are no names.

    Raises ValueError for a module without a group.
    """
    if not modules:
        return list(groups)
    known_modules = {module for group in groups for module in group.modules}
    for module in modules:
        if module not in known_modules:
            raise ValueError(f"No group of tests/mutants/{TABLE.name} has {module!r}; add it to one, with its tests")
    selected_groups = [replace(group, modules=tuple(m for m in group.modules if m in modules)) for group in groups]
    return [group for group in selected_groups if group.modules]


def _list_files(root: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    files: dict[str, None] = {}
    for pattern in patterns:
        matches = sorted(str(path.relative_to(root)) for path in root.glob(pattern) if path.name != "__init__.py")
        if not matches:
            raise ValueError(f"{TABLE.name}: no file is called {pattern}; correct it")
        files.update(dict.fromkeys(matches))
    return tuple(files)
