"""Which files a change has, by git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

MAIN = ("main", "origin/main")


class UnknownChange(Exception):
    """Git cannot say what changed: the message says why."""


@dataclass(frozen=True)
class Change:
    base: str  #: the commit that the files are compared with
    words: str  #: what that commit is, for people
    present: frozenset[str]  #: files that were added or changed, and are there
    deleted: frozenset[str]  #: files that are gone; a file that was renamed is one of each


def find_change(root: Path, since: str = "") -> Change:
    """What differs from `since`; without one from where the branch left main, or on main from the last commit.

    Uncommitted changes and new files count; of main without any the last commit is the change. Raises UnknownChange.
    """
    if since:
        return _compare(root, _run(root, "rev-parse", "--verify", f"{since}^{{commit}}"), since)
    head = _run(root, "rev-parse", "--verify", "HEAD")
    base = _find_fork(root)
    change = _compare(root, base, "the last commit" if base == head else "where this branch left main")
    if base == head and not change.present | change.deleted:
        return _compare(root, _run(root, "rev-parse", "--verify", "HEAD~1"), "the commit before the last")
    return change


def _find_fork(root: Path) -> str:
    for name in MAIN:
        try:
            return _run(root, "merge-base", "HEAD", name)
        except UnknownChange:
            continue
    raise UnknownChange(f"there is no branch {' or '.join(MAIN)} to compare with; use --since COMMIT")


def _compare(root: Path, base: str, words: str) -> Change:
    listed = _run(root, "diff", "--no-renames", "--name-only", "-z", base)
    new = _run(root, "ls-files", "--others", "--exclude-standard", "-z")
    paths = {path for path in f"{listed}\0{new}".split("\0") if path}
    present = frozenset(path for path in paths if (root / path).is_file())
    return Change(base, words, present, frozenset(paths - present))


def _run(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise UnknownChange(f"git {arguments[0]}: {(done.stderr.strip() or 'failed').splitlines()[0]}")
    return done.stdout.strip("\n")
