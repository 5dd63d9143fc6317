"""No test module imports a heavy package at collection."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from tests.suite.collection import ROOT, ImportWatch


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder of modules: `first_of_chain` imports `second_of_chain`, which imports `heavy_package`."""
    (tmp_path / "first_of_chain.py").write_text("import second_of_chain\n")
    (tmp_path / "second_of_chain.py").write_text('"""Says what it does."""\n\nimport heavy_package\n')
    (tmp_path / "heavy_package.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("first_of_chain", "second_of_chain", "heavy_package"):
        sys.modules.pop(name, None)


def test_the_watch_names_a_heavy_package_and_the_statements_that_import_it(project):
    watch = ImportWatch(frozenset({"heavy_package", "absent_package"}), project)
    watch.start()
    try:
        assert watch.offences() == []
        importlib.import_module("first_of_chain")
    finally:
        watch.stop()
    assert watch.offences() == ["heavy_package: first_of_chain.py:1 > second_of_chain.py:3"]
    assert watch not in sys.meta_path


def test_a_package_that_was_loaded_before_the_watch_is_an_offence_too(project):
    importlib.import_module("heavy_package")
    watch = ImportWatch(frozenset({"heavy_package"}), project)
    assert watch.offences() == ["heavy_package: imported outside the project or too early"]


def test_collecting_the_whole_tree_imports_no_heavy_package():
    plugins = ["-p", "tests.suite.collection", "-p", "tests.suite.modules_only", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", *plugins]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert run.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, run.stdout + run.stderr
