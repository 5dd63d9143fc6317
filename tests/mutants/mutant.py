"""A mutant: one small change to one function, and what the tests made of it."""

from __future__ import annotations

import ast
import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

#: Outcomes. mutmut's other words (segfault, suspicious, not checked, …) all become an error.
KILLED, SURVIVED, UNTESTED, TIMEOUT, ERROR = "killed", "survived", "no tests", "timeout", "error"


@dataclass(frozen=True, slots=True)
class Change:
    """What a mutant changes, as text: it stays the same when lines move."""

    module: str  #: its path, relative to the repository
    function: str  #: with its class in front: `Dialogue.plan_next`
    before: str  #: the lines that go, without the space around each
    after: str  #: the lines that come instead


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change that was tested."""

    name: str  #: mutmut's, which `mutmut show` takes
    change: Change
    outcome: str
    line: int  #: of the first line that changes, in the module as it is


def sample_names(names: Sequence[str], size: int, seed: int) -> list[str]:
    """`size` of the names, or all of them when it is 0; a name's luck depends on the seed and on nothing else.

    So a function that changes does not change which mutants of the others are drawn.
    """
    if not size:
        return list(names)
    return sorted(names, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())[:size]


def describe_change(module: str, function: str, original: str, mutated_text: str) -> Change:
    """The change between two texts of a function."""
    before, after = [], []
    for line in difflib.ndiff(original.splitlines(), mutated_text.splitlines()):
        if line.startswith("- "):
            before.append(line[2:].strip())
        elif line.startswith("+ "):
            after.append(line[2:].strip())
    return Change(module, function, "\n".join(before), "\n".join(after))


def find_line(source: Path, change: Change) -> int:
    """The line of the module where the change begins: the first in its function with that text, else the function's."""
    lines = source.read_text().splitlines()
    first, last = _find_function(ast.parse("\n".join(lines)), change.function.split("."))
    text = change.before.partition("\n")[0]
    return next((n for n in range(first, last + 1) if lines[n - 1].strip() == text), first)


def _find_function(tree: ast.AST, names: list[str]) -> tuple[int, int]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == names[0]:
            return _find_function(node, names[1:]) if len(names) > 1 else (node.lineno, node.end_lineno or node.lineno)
    return 1, 1
