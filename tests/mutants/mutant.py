"""A mutant: one small change to one function, and the outcome of its tests."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Outcomes. The other outcomes of mutmut (segfault, suspicious, not checked, …) become an error.
KILLED, SURVIVED, UNTESTED, TIMEOUT, ERROR = "killed", "survived", "no tests", "timeout", "error"


@dataclass(frozen=True, slots=True)
class Change:
    """The text that a mutant changes, which stays the same when lines move."""

    module: str  #: its path, relative to the repository
    function: str  #: with its class in front: `Dialogue.plan_next`
    before: str  #: the removed lines, without the space around each
    after: str  #: the added lines


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change that was tested."""

    name: str  #: mutmut's, which `mutmut show` takes
    change: Change
    outcome: str
    line: int  #: number of the first changed line in the module


def sample_names(names: Sequence[str], size: int, seed: int) -> list[str]:
    """Return `size` of the names, or all of them for 0. The choice of a name depends on the name and the seed alone.

    A change of one function therefore keeps the sampled mutants of the others.
    """
    if not size:
        return list(names)
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:size]


def describe_change(module: str, function: str, original: str, mutated_text: str) -> Change:
    """Return the change between two texts of a function."""
    before, after = [], []
    for line in difflib.ndiff(original.splitlines(), mutated_text.splitlines()):
        if line.startswith("- "):
            before.append(line[2:].strip())
        elif line.startswith("+ "):
            after.append(line[2:].strip())
    return Change(module, function, "\n".join(before), "\n".join(after))


def find_line(source: Path, change: Change) -> int:
    """Return the line of a change: the first line of its function with that text, else the function's first line."""
    lines = source.read_text().splitlines()
    first, last = _find_function(ast.parse("\n".join(lines)), change.function.split("."))
    text = change.before.partition("\n")[0]
    return next((n for n in range(first, last + 1) if lines[n - 1].strip() == text), first)


def _find_function(tree: ast.AST, names: list[str]) -> tuple[int, int]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == names[0]:
            return _find_function(node, names[1:]) if len(names) > 1 else (node.lineno, node.end_lineno or node.lineno)
    return 1, 1
