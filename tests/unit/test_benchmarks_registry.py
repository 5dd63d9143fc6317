"""The one list of benchmarks: a folder and a line each, and what the line says is so."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import lumos_queue.benchmarks
from lumos_queue.benchmarks.registry import BENCHMARKS, TEACHABLE, TESTABLE, open_benchmark, open_source
from lumos_queue.errors import SpecError
from lumos_queue.jobs.plugins import find_plugins
from lumos_queue.records import LEVELS
from lumos_queue.util import plugins

ROOM = Path(lumos_queue.benchmarks.__file__).parent


def test_every_folder_has_a_line_and_every_line_a_folder():
    folders = {path.parent.name for path in ROOM.glob("*/benchmark.py")} - {"from_file"}  # of files, without a name
    assert sorted(BENCHMARKS) == sorted(folders)
    assert {*TESTABLE, *TEACHABLE} == {*BENCHMARKS}


@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_a_benchmark_tests_and_teaches_as_its_line_says(name):
    benchmark = BENCHMARKS.load(name)
    assert benchmark.name == name and benchmark.domain and benchmark.licence and benchmark.splits
    assert bool(benchmark.metrics) == (name in TESTABLE)
    assert (benchmark.check_level in LEVELS) == (name in TEACHABLE)
    assert bool(benchmark.teacher_prompt) == (name in TEACHABLE and name != "openagi"), "its plans are made by rule"


def test_one_object_is_opened_to_test_and_to_teach():
    assert open_benchmark("gsm8k") is open_source("gsm8k")


def test_what_only_teaches_is_not_opened_to_test_and_the_other_way_round():
    with pytest.raises(SpecError, match="No benchmark called 'prm800k'") as refused:
        open_benchmark("prm800k")
    assert "scienceqa" in str(refused.value) and "rewoo" not in str(refused.value)
    with pytest.raises(SpecError, match="No source called 'scienceqa'") as refused:
        open_source("scienceqa")
    assert "rewoo" in str(refused.value) and "superni" not in str(refused.value)


def test_listing_the_names_imports_no_benchmark():
    code = (
        "import sys; from lumos_queue.benchmarks.registry import TESTABLE; "
        "print([name for name in sys.modules if name.endswith('.benchmark')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_name_of_a_files_benchmark_is_no_module_whatever_may_be_imported(tmp_path, monkeypatch):
    (tmp_path / "file.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "TRUSTED", plugins.TrustedModules())
    monkeypatch.setattr("lumos_queue.util.registry.TRUSTED", plugins.TRUSTED)
    plugins.TRUSTED.add_listed("file")
    request = {"benchmark": "file:capitals", "formulation": "cot"}  # a damaged one: its definition is missing
    assert "file:capitals" not in BENCHMARKS and BENCHMARKS.find("file:capitals") is None
    opened = [partial(one, "file:capitals") for one in (open_benchmark, open_source)]
    for read in (partial(find_plugins, "evaluate", request), *opened):
        with pytest.raises(SpecError, match=r"^'file:capitals' was made from a data file, and only its jobs store"):
            read()
