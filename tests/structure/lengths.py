"""Lengths of modules and functions, as written and after the formatter without `# fmt:` comments.

A module's lines are all of its lines. A function's lines are those from its `def` to its last line, without decorators;
a nested function also counts as part of the outer function. Formatted means: without `# fmt:` comments, by `ruff
format` with 120 columns, whatever the measured project's own settings are: all commits are measured alike.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from dataclasses import dataclass
from pathlib import Path

from tests.structure.source import Module, find_functions, read_modules

MARKER = re.compile(r"#\s*fmt:\s*(skip|off|on)\b")


@dataclass(frozen=True)
class Spread:
    median: int
    p90: int
    max: int
    longest: str


def measure(lengths: list[tuple[int, str]]) -> Spread:
    """Return the median, the 90th percentile and the maximum of lengths (nearest ranks); each length has a name."""
    if not lengths:
        return Spread(0, 0, 0, "")
    ordered_lengths = sorted(lengths)
    middle, high = (ordered_lengths[max(0, -(-len(ordered_lengths) * part // 100) - 1)][0] for part in (50, 90))
    return Spread(middle, high, *ordered_lengths[-1])


def module_lengths(modules: list[Module]) -> list[tuple[int, str]]:
    return [(len(module.text.splitlines()), module.path) for module in modules]


def function_lengths(modules: list[Module]) -> list[tuple[int, str]]:
    return [
        (
            (function.node.end_lineno or function.node.lineno) - function.node.lineno + 1,
            f"{module.path} {function.qualified_name}",
        )
        for module in modules
        for function in find_functions(module)
    ]


def find_markers(module: Module) -> list[tuple[str, str]]:
    """Return the kind and location of each `fmt:` comment."""
    return [(match[1], f"{module.path}:{token.start[0]}") for token, match in _markers(module.text)]


def find_skips(root: Path) -> list[str]:
    """Return the locations of `fmt: skip` in all Python files of a checkout, tests and scripts included."""
    locations = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and name not in {"build", "__pycache__"}
        )
        for file in (Path(folder) / name for name in sorted(names) if name.endswith(".py")):
            text = file.read_text(encoding="utf-8")
            kinds = [(match[1], token) for token, match in _markers(text)] if MARKER.search(text) else []
            path = file.relative_to(root).as_posix()
            locations += [f"{path}:{token.start[0]}" for kind, token in kinds if kind == "skip"]
    return locations


def format_modules(modules: list[Module], folders: list[str]) -> list[Module]:
    """Return the modules after the formatter, without the comments that switch it off."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for folder in folders:
            (root / folder).mkdir()
        for module in modules:
            file = root / module.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_without_markers(module.text), encoding="utf-8")
        command = ["format", "--isolated", "--no-cache", "--quiet", "--line-length=120", "--target-version=py311"]
        subprocess.run([sys.executable, "-m", "ruff", *command, name], check=True)
        return read_modules(root, folders)


def _markers(text: str) -> list[tuple[tokenize.TokenInfo, re.Match[str]]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    return [(token, match) for token in comments for match in MARKER.finditer(token.string)]


def _without_markers(text: str) -> str:
    lines = text.splitlines(keepends=True)
    for token, match in reversed(_markers(text)):
        row, column = token.start
        line = lines[row - 1]
        lines[row - 1] = line[: column + match.start()].rstrip() + line[column + match.end() :]
    return "".join(lines)
