"""`python -m tests.affected`: print the test files that a change can affect, with the reasons, and run them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import pytest
import typer

from tests.affected.changes import Change, UnknownChange, find_change
from tests.affected.checkout import check_out
from tests.affected.choice import Choice, choose_tests
from tests.affected.fact_cache import FILE
from tests.affected.graph import Graph, build_graph
from tests.affected.report import count, describe_chains
from tests.affected.rules import read_rules
from tests.affected.tree import UnreadableTree, read_tree

ROOT = Path(__file__).resolve().parents[2]
_PASSED = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}


def main(
    options: Annotated[list[str] | None, typer.Argument(help="Options of pytest, after `--`.")] = None,
    since: Annotated[
        str, typer.Option(help="The commit to compare with; by default the commit where this branch left main.")
    ] = "",
    only_list: Annotated[bool, typer.Option("--list", help="Print the choice, and run nothing.")] = False,
) -> None:
    """Run the tests that the changes since a commit can affect, uncommitted changes and new files included."""
    began = time.monotonic()
    try:
        change = find_change(ROOT, since)
        choice = choose(ROOT, change)
    except (UnknownChange, UnreadableTree) as error:
        if since and isinstance(error, UnknownChange):
            raise typer.BadParameter(str(error)) from None
        choice = Choice(everything=[str(error)])
    else:
        print(f"{count(len(change.present | change.deleted), 'file')} changed since {change.words} ({change.base[:8]})")
    for line in describe_chains(choice.chains):
        print(line)
    for reason in choice.everything:
        print(f"All tests: {reason}.")
    selection = "all test files" if choice.everything else count(len(choice.chains), "test file")
    print(f"Chosen in {time.monotonic() - began:.1f} s: {selection}.", flush=True)
    if only_list or not (choice.everything or choice.chains):
        return
    command = [sys.executable, "-m", "pytest", *(options or []), *([] if choice.everything else sorted(choice.chains))]
    code = subprocess.run(command, cwd=ROOT).returncode
    raise typer.Exit(0 if code in _PASSED else code)


def choose(root: Path, change: Change) -> Choice:
    """Return the tests that a change can affect. Raises UnreadableTree.

    The tests that use a deleted file are looked up in the base commit.
    """
    graph = open_graph(root)
    choice = choose_tests(graph, change.present)
    if change.deleted and not choice.everything:
        with check_out(root, change.base) as folder:
            before = choose_tests(open_graph(folder), change.deleted)
        remaining = {test: chain for test, chain in before.chains.items() if test in graph.tree.facts}
        choice = Choice(remaining | choice.chains, before.everything)
    return choice


def open_graph(root: Path) -> Graph:
    """Build the graph of a checkout. Raises UnreadableTree."""
    return build_graph(read_tree(root, ROOT / FILE), read_rules(), root)


if __name__ == "__main__":
    typer.run(main)
