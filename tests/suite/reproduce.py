"""Plugin: the report of a failed test has the command to run it again, and the folder of its files and logs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: pytest.TestReport = yield
    if report.failed:
        report.sections.append(("To run it again", "\n".join(describe(item))))
    return report


def describe(item: pytest.Item) -> Iterator[str]:
    """Yield the command with the seed of the run, and the folder of the test."""
    seed = getattr(item.config.option, "randomly_seed", None)
    yield f"python -m pytest '{item.nodeid}' -n 0 --randomly-seed={seed}"
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if folder:
        yield f"its files, logs of its processes included: {folder}"
