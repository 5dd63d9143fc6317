"""Only lumos_queue/util/wording.py writes the unit of a figure, or the form of a time."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The code that writes for people. Below it are texts that models read, that are parsed, and messages about limits.
PACKAGES = ("lumos_queue/api", "lumos_queue/builds", "lumos_queue/cli", "lumos_queue/live", "lumos_queue/pages")
PACKAGES += ("lumos_queue/reports", "lumos_queue/submission", "lumos_queue/web", "workers")
TEMPLATES = ("lumos_queue/pages/templates", "lumos_queue/web/templates")
_UNITS = r" ?(?:ms|s|secs?|seconds?|min|minutes?|h|hours?|d|days|[kKMGT]i?B|bytes|USD|percent)\b| ?%"
_AFTER, _BEFORE = re.compile(_UNITS), re.compile(r"(?:\$|USD )$")
_IN_TEMPLATE = re.compile(rf"\}}\}}(?:{_UNITS})|\$\{{\{{|\{{:,|%[.,]\d?f")
_TIMES = {"strftime", "fromtimestamp", "localtime", "gmtime", "ctime"}


def _units(file: Path) -> Iterator[str]:
    """Yield the place and the source of each value with a unit, and of each time, in a file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        place = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute) and node.attr in _TIMES:
            yield f"{place}: {ast.unparse(node)}"
        if isinstance(node, ast.FormattedValue) and node.format_spec and "%" in ast.unparse(node.format_spec):
            yield f"{place}: {ast.unparse(node)}"
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, after in zip(node.values, node.values[1:], strict=False):
            if isinstance(before, ast.FormattedValue) and _is_text(after, _AFTER.match):
                yield f"{place}: {ast.unparse(node)}"
            if isinstance(after, ast.FormattedValue) and _is_text(before, _BEFORE.search):
                yield f"{place}: {ast.unparse(node)}"


def _is_text(node: ast.expr, matches) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(matches(node.value))


def test_only_one_module_writes_units_and_times():
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 300
    assert [finding for file in files for finding in _units(file)] == []


def test_templates_take_units_and_counts_from_filters():
    lines = [
        (file.name, line.strip())
        for folder in TEMPLATES
        for file in sorted((ROOT / folder).glob("*.html"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) > 500
    assert [line for line in lines if _IN_TEMPLATE.search(line[1])] == []
