"""`python -m tests.affected.executed_code TEST_FILE...`: check that the graph has all the code that a test file runs.

Each file runs by itself under coverage, processes that it starts included. A file of product code counts as run if a
line of one of its functions ran that runs neither at the import of the product nor in an empty test, by fixtures of
every test. If the graph has no chain from the test to such a file, a rule is missing.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import coverage
import typer

from tests.affected.__main__ import ROOT, open_graph
from tests.affected.choice import reach
from tests.affected.graph import Graph
from tests.affected.tree import file_of

_SETTINGS = """\
[run]
source = {folders}
parallel = true
patch = subprocess, _exit
data_file = {folder}/data
disable_warnings = no-data-collected, module-not-imported, module-not-measured
"""
_PYTEST = ("-m", "pytest", "-p", "no:cacheprovider", "-n", "0")
_IMPORTS = """\
import importlib
for name in {names}:
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{{name}} cannot be imported: {{error}}")
"""
Lines = dict[str, set[int]]  #: path below the root to lines inside functions


def main(
    tests: Annotated[list[str], typer.Argument(help="Test files, as tests/unit/test_letters.py.")],
) -> None:
    """Run test files under coverage, and print the code that the graph does not reach. Exits with 1 if there is any."""
    graph = open_graph(ROOT)
    always = _measure_always(graph)
    gaps: Counter[str] = Counter()
    total = 0
    for test in tests:
        lines = measure([*_PYTEST, test], graph.rules.product)
        executed_files = {path for path, numbers in lines.items() if numbers - always[path]}
        unknown = sorted(executed_files - {file_of(node) for node in reach(graph, test)})
        total += len(executed_files)
        gaps.update(unknown)
        print(f"{test}: {len(executed_files)} files ran, {len(unknown)} unknown {' '.join(unknown)}", flush=True)
    print(f"{len(tests)} test files, {total} pairs of a test file and a file that it ran, {gaps.total()} unknown")
    raise typer.Exit(1 if gaps else 0)


def measure(arguments: Iterable[str], folders: Iterable[str]) -> Lines:
    """Run Python under coverage; return the lines of the folders' functions that ran."""
    with tempfile.TemporaryDirectory(prefix="affected-") as folder:
        settings = Path(folder) / "coveragerc"
        settings.write_text(_SETTINGS.format(folder=folder, folders=",".join(folders)))
        command = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", *arguments]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if process.returncode:
            print(f"{command[-1]}: exit code {process.returncode}: {(process.stdout.strip() or '-').splitlines()[-1]}")
        measurement = coverage.Coverage(config_file=str(settings))
        measurement.combine([folder])
        data = measurement.get_data()
        files = [file for file in data.measured_files() if file.endswith(".py")]  # compiled templates are measured, too
        return {
            Path(file).relative_to(ROOT).as_posix(): _find_function_lines(Path(file)).intersection(
                data.lines(file) or ()
            )
            for file in files
        }


def _measure_always(graph: Graph) -> Lines:
    """Return the lines that run at the import of product code, and in an empty test."""
    names = [name for name, path in graph.tree.paths.items() if graph.rules.is_product(path)]
    names = [name for name in names if not name.endswith("__main__") and not name.startswith("migrations.")]
    lines: Lines = defaultdict(set)
    with tempfile.TemporaryDirectory(prefix="affected-") as folder:
        program, empty = Path(folder) / "imports.py", Path(folder) / "test_nothing.py"
        program.write_text(_IMPORTS.format(names=names))
        empty.write_text("def test_nothing(): ...")
        for arguments in ([str(program)], [*_PYTEST, "-p", "tests.conftest", str(empty)]):
            for path, numbers in measure(arguments, graph.rules.product).items():
                lines[path] |= numbers
    return lines


def _find_function_lines(file: Path) -> set[int]:
    """Return the lines of the bodies of functions; the heads run with the module."""
    return {
        line
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
    }


if __name__ == "__main__":
    typer.run(main)
