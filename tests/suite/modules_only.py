"""Plugin: pytest imports all test modules but collects no tests, which would take as long again."""

from __future__ import annotations


def pytest_pycollect_makeitem() -> list:
    return []
