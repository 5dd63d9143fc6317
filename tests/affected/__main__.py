"""`python -m tests.affected`: print which test files a change can touch, and why; run them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import pytest
import typer

from tests.affected.changes import Change, UnknownChange, find_change
from tests.affected.checkout import checked_out
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
    since: Annotated[str, typer.Option(help="The commit to compare with; where this branch left main if none.")] = "",
    only_list: Annotated[bool, typer.Option("--list", help="Print the choice, and run nothing.")] = False,
) -> None:
    """Run the tests that can be touched by what changed since a commit, uncommitted changes and new files included."""
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
    chosen = "all test files" if choice.everything else count(len(choice.chains), "test file")
    print(f"Chosen in {time.monotonic() - began:.1f} s: {chosen}.", flush=True)
    if only_list or not (choice.everything or choice.chains):
        return
    command = [sys.executable, "-m", "pytest", *(options or []), *([] if choice.everything else sorted(choice.chains))]
    code = subprocess.run(command, cwd=ROOT).returncode
    raise typer.Exit(0 if code in _PASSED else code)


def choose(root: Path, change: Change) -> Choice:
    """Look up what uses a deleted file in the commit before. Raises UnreadableTree."""
    graph = open_graph(root)
    choice = choose_tests(graph, change.present)
    if change.deleted and not choice.everything:
        with checked_out(root, change.base) as folder:
            before = choose_tests(open_graph(folder), change.deleted)
        remaining = {test: chain for test, chain in before.chains.items() if test in graph.tree.facts}
        choice = Choice(remaining | choice.chains, before.everything)
    return choice


def open_graph(root: Path) -> Graph:
    """Raises UnreadableTree."""
    return build_graph(read_tree(root, ROOT / FILE), read_rules(), root)


if __name__ == "__main__":
    typer.run(main)
