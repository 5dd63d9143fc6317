"""Two trees: which file of one is which of the other, and everything in which they differ."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.structure.rename_only.comparison import compare_files
from tests.structure.rename_only.mapping import Mapping
from tests.structure.rename_only.program import Program, is_package, module_name

IGNORED = {
    ".git",
    ".hypothesis",
    ".lumos",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "__pycache__",
    "build",
    "node_modules",
}


@dataclass
class Report:
    problems: list[str] = field(default_factory=list)
    to_check: list[str] = field(default_factory=list)
    other_files: list[str] = field(default_factory=list)  #: that are no Python and differ
    equal: int = 0  #: Python files with the same text
    renamed: int = 0  #: Python files that changed, and have no problem
    refused: int = 0  #: Python files with a problem
    names: int = 0  #: names that changed


def compare_trees(old: Path, new: Path, mapping: Mapping) -> Report:
    """Raises ValueError when a tree is no folder, has no Python file, or a file of it does not parse."""
    report = Report()
    old_files, new_files = list_files(old), list_files(new)
    texts = {name: _read(old / name) for name in sorted(old_files) if name.endswith(".py")}
    if not texts:
        raise ValueError(f"'{old}' has no Python file.")
    program = Program({name: _parse(old / name, text) for name, text in texts.items()}, mapping)
    report.problems += _check_modules(program, mapping)
    moves = {name: _move(name, mapping) for name in texts}
    words = re.compile("|".join(rf"\b{re.escape(word)}\b" for word in sorted(mapping.words())) or r"(?!)")
    for name, target in moves.items():
        if target not in new_files:
            report.problems.append(f"{name}:1: the file is gone; '{target}' is not there")
            continue
        text = _read(new / target)
        if text == texts[name] and target == name and not words.search(text):
            report.equal += 1
            continue
        findings = compare_files(program.modules[module_name(name)], target, _parse(new / target, text), program)
        report.problems += findings.problems
        report.to_check += findings.to_check
        report.names += findings.renamed
        report.refused += bool(findings.problems)
        report.equal += text == texts[name] and not findings.problems
        report.renamed += text != texts[name] and not findings.problems
    for name in sorted(file for file in new_files - set(moves.values()) if file.endswith(".py")):
        report.problems.append(f"{name}:1: the file was added")
    report.problems += [f"{path}:{line}: {text}" for path, line, text in program.find_clashes()]
    report.problems += [f"mapping: {text}" for text in mapping.conflicts]
    report.problems += [f"mapping:{entry.line}: '{entry}' is unused" for entry in mapping.entries if not entry.is_used]
    report.other_files += list(_compare_others(old, new, old_files, new_files))
    return report


def list_files(root: Path) -> set[str]:
    """The files below a folder, with slashes; without those of version control, caches and virtual environments."""
    if not root.is_dir():
        raise ValueError(f"'{root}' is not a folder; `git worktree add FOLDER COMMIT` makes one of a commit.")
    files = set()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in IGNORED and not name.endswith(".egg-info")]
        files.update((Path(folder) / name).relative_to(root).as_posix() for name in names if name not in IGNORED)
    return files


def _check_modules(program: Program, mapping: Mapping) -> Iterator[str]:
    """Modules that the mapping names and the tree lacks, and modules that would be moved onto others."""
    for entry in mapping.entries:
        module = entry.old if entry.kind == "module" else entry.module
        if module and module not in program.modules and not _is_package_of(module, program.modules):
            yield f"mapping:{entry.line}: '{entry}': there is no module '{module}' in the old tree"
    targets: dict[str, str] = {}
    for name in program.modules:
        target = mapping.rename_module(name)
        if target in targets:
            yield f"mapping: the modules '{targets[target]}' and '{name}' become one, '{target}'"
        targets[target] = name


def _is_package_of(name: str, modules: Collection[str]) -> bool:
    return any(module.startswith(f"{name}.") for module in modules)


def _move(path: str, mapping: Mapping) -> str:
    old = module_name(path)
    new = mapping.rename_module(old)
    return path if old == new else new.replace(".", "/") + ("/__init__.py" if is_package(path) else ".py")


def _compare_others(old: Path, new: Path, old_files: set[str], new_files: set[str]) -> Iterator[str]:
    for name in sorted(file for file in old_files | new_files if not file.endswith(".py")):
        if name not in new_files:
            yield f"{name}: gone"
        elif name not in old_files:
            yield f"{name}: added"
        elif _content(old / name) != _content(new / name):
            yield f"{name}: changed"


def _content(file: Path) -> bytes | str:
    """A link is compared by its target."""
    return os.readlink(file) if file.is_symlink() else file.read_bytes()


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"'{file}' is no text in UTF-8.") from None


def _parse(file: Path, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"'{file}' does not parse: {error}") from None
