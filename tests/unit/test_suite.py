"""How the tests are run: units, order, costs, progress, and what is missing on a machine."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.suite import __main__ as suite
from tests.suite import needs, schedule
from tests.suite.costs import read_costs
from tests.suite.needs import Need
from tests.suite.progress import Progress
from tests.suite.schedule import Times, read_times

ROOT = Path(__file__).resolve().parents[2]
TIMES = Times({"a.py": 5.0, "b.py": 30.0, "c.py": 8.0, "d.py": 7.0}, frozenset({"c.py", "d.py"}))


def items_of(*nodeids: str) -> list:
    return [SimpleNamespace(nodeid=nodeid) for nodeid in nodeids]


def test_files_that_import_torch_are_one_unit():
    assert TIMES.unit_of("c.py::test") == TIMES.unit_of("d.py::test[a::b]") == "torch 1"
    assert TIMES.unit_of("a.py::test") == "a.py"


def test_they_are_two_units_when_one_would_be_longer_than_a_worker_has():
    times = Times({"a.py": 10.0, "c.py": 8.0, "d.py": 7.0, "e.py": 5.0}, frozenset({"c.py", "d.py", "e.py"}))
    assert times.units == {"c.py": "torch 1", "d.py": "torch 2", "e.py": "torch 2"}


def test_the_longest_unit_starts_first_and_a_unit_stays_together(monkeypatch):
    monkeypatch.setattr(schedule, "read_times", lambda: TIMES)
    items = items_of("a.py::1", "c.py::1", "b.py::2", "b.py::1", "d.py::1", "new.py::1", "c.py::2")
    config = SimpleNamespace(option=SimpleNamespace(randomly_reorganize=False))
    schedule.pytest_collection_modifyitems(config, items)
    order = [item.nodeid for item in items]
    assert order == ["b.py::2", "b.py::1", "c.py::1", "d.py::1", "c.py::2", "new.py::1", "a.py::1"]


def test_a_random_order_is_not_sorted(monkeypatch):
    monkeypatch.setattr(schedule, "read_times", lambda: TIMES)
    items = items_of("a.py::1", "b.py::1")
    schedule.pytest_collection_modifyitems(SimpleNamespace(option=SimpleNamespace(randomly_reorganize=True)), items)
    assert [item.nodeid for item in items] == ["a.py::1", "b.py::1"]


def test_the_recorded_times_are_of_files_that_exist():
    times = read_times()
    missing = [file for file in {*times.seconds, *times.torch} if not (ROOT / file).is_file()]
    assert not missing, "run `make test-times`, or remove these from tests/suite/times.json"


def test_costs_are_summed_by_kind_file_and_fixture(tmp_path):
    records = [
        {"collection": {"wall": 3.0, "cpu": 2.0, "import": 1.5}, "start": 1.0, "heavy": []},
        {
            "test": "unit/a.py::one",
            "setup": {"wall": 2.0, "cpu": 0.5, "sleep": 1.0},
            "call": {"wall": 4.0, "cpu": 1.0, "children": 3.0, "subprocess": 2.5},
            "teardown": {},
            "fixtures": [["server", "", "session", 1.9]],
            "heavy": ["torch"],
        },
        {"test": "unit/b.py::two", "call": {"wall": 1.0, "cpu": 1.0}, "fixtures": [], "heavy": []},
    ]
    (tmp_path / "gw0.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "controller.jsonl").write_text('{"collection": {}, "start": 1.0, "heavy": []}\n')
    costs = read_costs(tmp_path)
    assert (costs.workers, costs.seconds, costs.processor) == (1, 10.0, 8.5)
    assert costs.files == {"unit/a.py": 6.0, "unit/b.py": 1.0}
    assert costs.fixtures == {"server (tests)": 1.9} and costs.torch == {"unit/a.py"}
    other = next(kind for kind in costs.shares if kind.startswith("other"))
    assert costs.shares == {
        "import": 1.5,
        "database": 0.0,
        "subprocess": 2.5,
        "sleep": 1.0,
        "collection without imports": 1.5,
        "computing in tests": 2.5,
        other: 1.0,
    }


def test_a_folder_without_records_is_one_line_and_no_times_are_written(tmp_path, monkeypatch, capsys):
    written = schedule.FILE.read_bytes()
    monkeypatch.setattr("sys.argv", ["python -m tests.suite", str(tmp_path), "--write"])
    with pytest.raises(SystemExit) as ended:
        suite.main()
    assert ended.value.code == 2 and "has no records of tests: run pytest with --times=" in capsys.readouterr().err
    assert schedule.FILE.read_bytes() == written


def test_progress_weighs_tests_by_recorded_seconds():
    progress = Progress(SimpleNamespace(), TIMES)
    progress.begin(["b.py::1", "b.py::2", "a.py::1", "a.py::2"])
    progress._finished_tests.add("b.py::1")
    assert progress.describe(60.0) == "[ 43%] 1 of 4 tests, about 1.3 min left"
    progress._failed_tests.add("b.py::1")
    assert "1 of 4 tests, 1 failed, about" in progress.describe(60.0)


def test_progress_says_why_a_test_failed():
    lines: list[str] = []
    reporter = SimpleNamespace(ensure_newline=lambda: None, write_line=lambda line, red: lines.append(line))
    progress = Progress(reporter, TIMES)
    crash = SimpleNamespace(path="a.py", lineno=7, message="ValueError: 3\n  is odd")
    for name, longrepr in (("1", SimpleNamespace(reprcrash=crash)), ("2", "no such fixture")):
        report = SimpleNamespace(failed=True, nodeid=f"a.py::{name}", longrepr=longrepr, when="call")
        progress.pytest_runtest_logreport(report)
    assert lines == ["FAILED a.py::1 - a.py:7: ValueError: 3 is odd", "FAILED a.py::2"]


def test_what_is_missing_is_named_with_the_tests_skipped_and_one_command(monkeypatch, capsys):
    absent = (
        Need("A", lambda: False, "package-a", "tests of A"),
        Need("B", lambda: True, "package-b", "tests of B"),
        Need("C", lambda: False, "package-c", "tests of C"),
    )
    monkeypatch.setattr(needs, "NEEDS", absent)
    needs.main([])
    assert capsys.readouterr().out.splitlines() == [
        "Not here: A. Skipped: tests of A.",
        "Not here: C. Skipped: tests of C.",
        "To install: apt-get install --no-install-recommends package-a package-c",
    ]
    needs.main(["--packages"])
    assert capsys.readouterr().out == "package-a package-c\n"


def test_each_collected_test_is_in_exactly_one_of_make_test_and_make_test_long(request):
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["addopts"]
    assert shlex.split(options)[-2:] == ["-m", "not long"]
    commands = [line for line in (ROOT / "Makefile").read_text().splitlines() if "-m pytest" in line]
    assert [line.partition("$(PYTEST)")[2] for line in commands] == ["", " -m long", " --times=build/test-times"]
    collected = request.config.stash[schedule.COLLECTED]
    selected = {item.nodeid for item in request.session.items}
    option = request.config.option
    if option.markexpr == "not long" and not option.keyword and not option.deselect:
        assert selected == {nodeid for nodeid, is_long in collected.items() if not is_long}
    outside = [path for path in ROOT.rglob("test_*.py") if not path.is_relative_to(ROOT / "tests")]
    assert not [path for path in outside if ".venv" not in path.parts and "build" not in path.parts]
