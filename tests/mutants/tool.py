"""Run mutmut on one group of modules in a copy of the repository.

mutmut writes all mutants of a module into one file and chooses among them at each call, so that a mutant costs a fork
and the tests that call its function. This uses two internals, a module's list of mutants, to sample them before the
run, and their texts; pyproject.toml therefore pins its minor version.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path

import libcst
from mutmut.configuration import reset_config
from mutmut.mutation.diff_apply import read_functions_from_index
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name, orig_function_and_class_names_from_key

from tests.mutants.groups import ROOT, Group
from tests.mutants.mutant import ERROR, KILLED, SURVIVED, TIMEOUT, UNTESTED, Change, Mutant, describe_change, find_line

SOURCES = ("lumos_queue", "db", "workers")
TRIES = 3  #: runs of the tests without a mutant
NOT_COPIED = {".git", ".venv", "build", "dist", "mutants"}


def make_tree(group: Group, folder: Path) -> None:
    """Make a folder for mutmut: links to all files of the repository, and settings for this group."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    beside = [path.name for path in ROOT.iterdir() if path.name not in NOT_COPIED and not path.name.startswith(".")]
    for name in beside:
        if name != "pyproject.toml":
            (folder / name).symlink_to(ROOT / name)
    if (records := ROOT.parent / "shared").is_dir():  # tests read it beside the checkout, or beside the copy
        (folder / "shared").symlink_to(records)
    settings = {
        "source_paths": list(SOURCES),
        "only_mutate": list(group.modules),
        "also_copy": sorted(set(beside) - set(SOURCES)),
        "pytest_add_cli_args_test_selection": list(group.tests),
        "pytest_add_cli_args": ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "tests.mutants.selection"],
        "use_git_change_detection": False,
        "process_isolation": "forkserver",  # each mutant starts in a process without earlier tests
        "timeout_multiplier": 4.0,
        "timeout_constant": 4.0,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    project = (ROOT / "pyproject.toml").read_text()
    (folder / "pyproject.toml").write_text("\n".join([project, "[tool.mutmut]", *lines, ""]))


def list_mutants(module: str, folder: Path) -> list[str]:
    """Return the names of all mutants of a module."""
    with _enter(folder):
        names = mutate_file_contents(module, Path(module).read_text()).mutant_names
        return [get_mutant_name(Path(module), name) for name in names]


def run_mutants(names: Sequence[str], folder: Path, jobs: int) -> None:
    """Test these mutants, in `jobs` processes at a time. Raises RuntimeError if the tests fail without a mutant.

    Tests that measure time may fail once or twice on a busy machine.
    """
    log = folder / "mutmut.log"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # child processes of tests run the unchanged code
    command = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(jobs), *names]
    for _ in range(TRIES):
        with log.open("w") as out:
            process = subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
        if not process.returncode:
            return
        lines = [line for line in log.read_text().replace("\r", "\n").splitlines() if " Running " not in line]
        if not any(line.startswith(("Failed to run clean test", "failed to collect stats")) for line in lines):
            break
    raise RuntimeError("\n".join([f"mutmut stopped with {process.returncode}; the end of {log}:", *lines[-30:]]))


def read_mutants(module: str, names: Sequence[str], folder: Path) -> list[Mutant]:
    """Return these mutants of a module with their outcomes."""
    codes = json.loads((folder / "mutants" / f"{module}.meta").read_text())["exit_code_by_key"]
    changes = describe_mutants(module, names, folder)
    return [
        Mutant(name, change, _outcome(codes[name]), find_line(ROOT / module, change))
        for name, change in zip(names, changes, strict=True)
    ]


def describe_mutants(module: str, names: Sequence[str], folder: Path) -> list[Change]:
    """Return the change of each of these mutants, also of untested ones."""
    changes = []
    with _enter(folder):
        for name in names:
            original, mutated_function = read_functions_from_index(name, module) or (None, None)
            if original is None or mutated_function is None:
                raise RuntimeError(f"mutmut cannot show {name} of {folder}; delete the folder and run again")
            changes.append(describe_change(module, name_function(name), _code(original), _code(mutated_function)))
    return changes


def name_function(name: str) -> str:
    """Return the name of the function that a mutant changes, behind its class."""
    function, class_name = orig_function_and_class_names_from_key(name)
    return f"{class_name}.{function}" if class_name else function


def _outcome(exit_code: int | None) -> str:
    status = status_by_exit_code[exit_code]
    return status if status in (KILLED, SURVIVED, UNTESTED, TIMEOUT) else ERROR


def _code(function: libcst.FunctionDef) -> str:
    return libcst.Module([function]).code


@contextmanager
def _enter(folder: Path) -> Iterator[None]:
    """Work in a folder, because mutmut reads its settings and writes its files in the current one."""
    with chdir(folder):
        reset_config()
        yield
