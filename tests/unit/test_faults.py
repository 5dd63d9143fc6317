"""docs/faults.md answers all 41 faults of the original, by tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_ROW = re.compile(r"^\| (\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
REASON = "not applicable, because "
ROWS = {int(number): (fault, answer) for number, fault, answer in _ROW.findall((ROOT / "docs/faults.md").read_text())}


def functions(path: Path) -> set[str]:
    return {one.name for one in ast.parse(path.read_text()).body if isinstance(one, ast.FunctionDef)}


def test_all_41_are_there():
    assert sorted(ROWS) == list(range(1, 42))


@pytest.mark.parametrize("number", range(1, 42))
def test_a_fault_is_answered_by_tests_that_exist(number):
    _, answer = ROWS[number]
    tests = _TEST.findall(answer)
    assert tests or answer.startswith(REASON), answer
    assert not _TEST.sub("", answer).strip() or answer.startswith(REASON), "nothing but tests, or a reason"
    for path, name in tests:
        assert name in functions(ROOT / path), f"{path} has no {name}"


def test_a_test_of_a_fault_stands_in_its_row():
    named = {name for _, answer in ROWS.values() for _, name in _TEST.findall(answer)}
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if "def test_fault_" in path.read_text("utf-8")]
    written = {name for path in files for name in functions(path)}
    assert {name for name in written if name.startswith("test_fault_")} <= named
