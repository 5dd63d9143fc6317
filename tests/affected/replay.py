"""`python -m tests.affected.replay`: would the tests that past commits added or changed have been chosen?

Each commit is a case: its files changed, its own tree is the graph. The first figure counts a test file that the commit
itself changed; the second takes only what the commit changed outside tests/, so that a chain must lead to the test.
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
from tests.affected.checkout import checked_out
from tests.affected.choice import Choice
from tests.affected.report import count
from tests.affected.tree import is_test


@dataclass(frozen=True)
class Case:
    commit: str
    title: str
    tests: frozenset[str]  #: test files that it added or changed
    change: Change
    change_of_code: Change  #: without what lies in tests/


def main(
    commits: Annotated[list[str] | None, typer.Argument(help="Commits; the newest suitable ones if none.")] = None,
    number: Annotated[int, typer.Option(help="How many of the newest commits that change both code and tests.")] = 10,
    end: Annotated[str, typer.Option(help="The newest commit to look at.")] = "HEAD",
) -> None:
    """Replay past commits, and print what would have been chosen and how fast. The exit code is 1 for a miss."""
    missed = 0
    for case in find_cases(commits or [], number, end):
        with checked_out(ROOT, case.commit) as folder:
            began = time.monotonic()
            whole = choose(folder, case.change)
            seconds = time.monotonic() - began
            code = choose(folder, case.change_of_code)
        left_out = sorted(test for test in case.tests if not _has(whole, test))
        unreached = sorted(test for test in case.tests if not _has(code, test))
        missed += len(left_out)
        print(f"{case.commit[:8]} {case.title[:90]}")
        print(f"  chosen: {_count(whole)} in {seconds:.1f} s; changed tests among them: {_share(case.tests, left_out)}")
        print(f"  from the code alone: {_count(code)}; changed tests among them: {_share(case.tests, unreached)}")
        for reason in whole.everything:
            print(f"  all tests: {reason}")
        for test in left_out:
            print(f"  MISSED: {test}")
        for test in unreached:
            print(f"  not reached from the code: {test}", flush=True)
    raise typer.Exit(1 if missed else 0)


def find_cases(commits: list[str], number: int, end: str) -> Iterator[Case]:
    """The commits that were asked for, or else the newest that changed both a test file and code of the product."""
    listed = commits or _run("rev-list", "--no-merges", end).split()
    for commit in listed:
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
    deleted = frozenset(states.keys() - present)
    base = _run("rev-parse", f"{commit}^").strip()
    return Case(
        _run("rev-parse", commit).strip(),
        _run("show", "--no-patch", "--format=%s", commit).strip(),
        frozenset(path for path in present if is_test(path)),
        Change(base, "its parent", present, deleted),
        Change(base, "its parent", frozenset(filter(_is_outside, present)), frozenset(filter(_is_outside, deleted))),
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
