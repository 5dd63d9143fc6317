"""A plugin: pytest imports all test modules and makes no tests of them, which would take as long again."""

from __future__ import annotations


def pytest_pycollect_makeitem() -> list:
    return []
