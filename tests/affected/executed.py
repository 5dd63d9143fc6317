"""`python -m tests.affected.executed TEST_FILE...`: does the graph know all the code that a test file runs?

Each file runs by itself under coverage, processes that it starts included. A file of product code counts as run if a
line inside one of its functions ran: what a module does when it is imported says nothing about who uses it. What an
empty test runs, by fixtures that every test uses, does not count either. A file that ran and that the graph does not
lead to from the test is a dependency that a rule lacks.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import coverage
import typer

from tests.affected.__main__ import ROOT, open_graph
from tests.affected.choice import reach
from tests.affected.tree import file_of

_SETTINGS = """\
[run]
source = {folders}
parallel = true
patch = subprocess, _exit
data_file = {folder}/data
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""


def main(
    tests: Annotated[list[str], typer.Argument(help="Test files, as tests/unit/test_letters.py.")],
) -> None:
    """Run test files under coverage, and print the code that the graph does not lead to. The exit code is 1 for any."""
    graph = open_graph(ROOT)
    with tempfile.TemporaryDirectory(prefix="affected-") as folder:
        empty = Path(folder) / "test_nothing.py"
        empty.write_text("def test_nothing(): ...")
        always = set(find_executed(str(empty), graph.rules.product, "-p", "tests.conftest"))
    missed: Counter[str] = Counter()
    total = 0
    for test in tests:
        executed = set(find_executed(test, graph.rules.product)) - always
        unknown = sorted(executed - {file_of(node) for node in reach(graph, test)})
        total += len(executed)
        missed.update(unknown)
        print(f"{test}: {len(executed)} files ran, {len(unknown)} unknown {' '.join(unknown)}", flush=True)
    print(f"{len(tests)} test files, {total} pairs of a test file and a file that it ran, {missed.total()} unknown")
    raise typer.Exit(1 if missed else 0)


def find_executed(test: str, folders: tuple[str, ...], *options: str) -> Iterator[str]:
    """Paths of files of which a function ran."""
    with tempfile.TemporaryDirectory(prefix="affected-") as folder:
        settings = Path(folder) / "coveragerc"
        settings.write_text(_SETTINGS.format(folder=folder, folders=",".join(folders)))
        pytest = ["-m", "pytest", "-p", "no:cacheprovider", "-n", "0", *options, test]
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *pytest]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            print(f"{test}: pytest ended with {done.returncode}: {(done.stdout.strip() or '-').splitlines()[-1]}")
        merged = coverage.Coverage(config_file=str(settings))
        merged.combine([folder])
        data = merged.get_data()
        for file in filter(_is_python, data.measured_files()):
            lines = set(data.lines(file) or ())
            if lines & _find_function_lines(Path(file)):
                yield Path(file).relative_to(ROOT).as_posix()


def _is_python(file: str) -> bool:
    """Compiled templates are measured, too."""
    return file.endswith(".py")


def _find_function_lines(file: Path) -> set[int]:
    """The lines of the bodies of functions; not of their heads, which run with the module."""
    return {
        line
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }


if __name__ == "__main__":
    typer.run(main)
