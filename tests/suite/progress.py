"""Plugin: with `--progress`, lines with the progress of a run and the time left, in place of a dot for each test."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.suite.schedule import Times, read_times
from tests.suite.servers import is_worker

INTERVAL = 15.0  #: seconds between two lines


class Progress:
    """Counts finished tests, each weighted with its share of the recorded seconds of its file."""

    def __init__(self, reporter: pytest.TerminalReporter, times: Times):
        self._reporter, self._times = reporter, times
        self._weights: dict[str, float] = {}
        self._finished_tests: set[str] = set()
        self._failed_tests: set[str] = set()
        self._began = self._last_line_time = time.monotonic()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.begin([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        if not self._weights:
            self.begin(ids)

    def begin(self, tests: Sequence[str]) -> None:
        """Start to count; `tests` will run."""
        counts = Counter(test.partition("::")[0] for test in tests)
        for test in tests:
            file = test.partition("::")[0]
            self._weights[test] = max(self._times.of(file), 0.1) / counts[file]
        self._began = self._last_line_time = time.monotonic()

    def pytest_report_teststatus(self, report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
        """No character for each test: the counts of the last line stay as they are."""
        if report.passed:
            return ("passed" if report.when == "call" else "", "", "")
        if report.skipped:
            return ("skipped", "", "") if not hasattr(report, "wasxfail") else None
        return ("failed" if report.when == "call" else "error", "", "")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self._failed_tests:
            self._failed_tests.add(report.nodeid)
            self._reporter.ensure_newline()
            self._reporter.write_line(f"FAILED {report.nodeid}{_describe_failure(report)}", red=True)
        if report.when == "teardown":
            self._finished_tests.add(report.nodeid)
        now = time.monotonic()
        if now - self._last_line_time >= INTERVAL:
            self._last_line_time = now
            self._reporter.ensure_newline()
            self._reporter.write_line(self.describe(now - self._began))

    def describe(self, elapsed_seconds: float) -> str:
        """Return a line with the progress, the failures, and the time left at the average pace."""
        total = sum(self._weights.values()) or 1.0
        share = sum(self._weights.get(test, 0.0) for test in self._finished_tests) / total
        failures = f", {len(self._failed_tests)} failed" if self._failed_tests else ""
        remaining = f", about {elapsed_seconds * (1 - share) / share / 60:.1f} min left" if share > 0.02 else ""
        return f"[{share:4.0%}] {len(self._finished_tests):,} of {len(self._weights):,} tests{failures}{remaining}"


def _describe_failure(report: pytest.TestReport) -> str:
    """Return the file, line and message of a failure as ` - FILE:LINE: MESSAGE`; '' if they are not known.

    A run that is interrupted prints no tracebacks.
    """
    crash = getattr(report.longrepr, "reprcrash", None)
    return f" - {crash.path}:{crash.lineno}: {' '.join(crash.message.split())[:300]}" if crash else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--progress", action="store_true", help="print the progress and the time left, not dots")


@pytest.hookimpl(trylast=True)  # after the terminal's plugin
def pytest_configure(config: pytest.Config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter and config.getoption("--progress") and not is_worker(config):
        config.pluginmanager.register(Progress(reporter, read_times()), "progress")
