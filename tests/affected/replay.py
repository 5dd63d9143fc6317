"""`python -m tests.affected.replay`: check that the tests of past commits would have been chosen.

Each commit is a case: a change of its files in the graph of its tree. The first figure includes test files that the
commit changed; the second considers only its changes outside tests/, so that a chain must lead to the test.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from tests.affected.__main__ import ROOT, choose
from tests.affected.changes import Change
from tests.affected.checkout import check_out
from tests.affected.choice import Choice
from tests.affected.report import count
from tests.affected.tree import is_test


@dataclass(frozen=True)
class Case:
    commit: str
    title: str
    tests: frozenset[str]  #: test files that the commit added or changed
    change: Change
    change_of_code: Change  #: without the files in tests/


def main(
    commits: Annotated[list[str] | None, typer.Argument(help="Commits; the newest suitable ones if none.")] = None,
    number: Annotated[int, typer.Option(help="How many of the newest commits that change both code and tests.")] = 10,
    end: Annotated[str, typer.Option(help="The newest commit to look at.")] = "HEAD",
) -> None:
    """Replay past commits; print the choice and its time. Exits with 1 if a test was missed."""
    missed_count = 0
    for case in find_cases(commits or [], number, end):
        with check_out(ROOT, case.commit) as folder:
            began = time.monotonic()
            whole = choose(folder, case.change)
            seconds = time.monotonic() - began
            code = choose(folder, case.change_of_code)
        missed_tests = sorted(test for test in case.tests if not _has(whole, test))
        unreached_tests = sorted(test for test in case.tests if not _has(code, test))
        missed_count += len(missed_tests)
        print(f"{case.commit[:8]} {case.title[:90]}")
        share = _share(case.tests, missed_tests)
        print(f"  chosen: {_count(whole)} in {seconds:.1f} s; changed tests among them: {share}")
        print(f"  from the code alone: {_count(code)}; changed tests among them: {_share(case.tests, unreached_tests)}")
        for reason in whole.everything:
            print(f"  all tests: {reason}")
        for test in missed_tests:
            print(f"  MISSED: {test}")
        for test in unreached_tests:
            print(f"  not reached from the code: {test}", flush=True)
    raise typer.Exit(1 if missed_count else 0)


def find_cases(commits: list[str], number: int, end: str) -> Iterator[Case]:
    """Yield the given commits, or else the newest that changed both a test file and code of the product."""
    candidates = commits or _run("rev-list", "--no-merges", end).split()
    for commit in candidates:
        case = _read_case(commit)
        if commits or (case.tests and any(_is_code(path) for path in case.change_of_code.present)):
            yield case
            number -= 1
        if not commits and not number:
            return


def _read_case(commit: str) -> Case:
    lines = _run("diff", "--no-renames", "--name-status", f"{commit}^", commit).splitlines()
    states = {path: state for state, _, path in (line.partition("\t") for line in lines)}
    present = frozenset(path for path, state in states.items() if state != "D")
    deleted_files = frozenset(states.keys() - present)
    base = _run("rev-parse", f"{commit}^").strip()
    return Case(
        _run("rev-parse", commit).strip(),
        _run("show", "--no-patch", "--format=%s", commit).strip(),
        frozenset(path for path in present if is_test(path)),
        Change(base, "its parent", present, deleted_files),
        Change(
            base, "its parent", frozenset(filter(_is_outside, present)), frozenset(filter(_is_outside, deleted_files))
        ),
    )


def _is_outside(path: str) -> bool:
    return not path.startswith("tests/")


def _is_code(path: str) -> bool:
    return path.endswith(".py") and path.split("/")[0] in ("lumos_queue", "db", "workers", "migrations")


def _has(choice: Choice, test: str) -> bool:
    return bool(choice.everything) or test in choice.chains


def _count(choice: Choice) -> str:
    return "all test files" if choice.everything else count(len(choice.chains), "test file")


def _share(tests: frozenset[str], without: list[str]) -> str:
    return f"{len(tests) - len(without)} of {len(tests)}"


def _run(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    typer.run(main)
