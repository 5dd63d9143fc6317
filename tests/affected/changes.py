"""The files of a change, by git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

MAIN = ("main", "origin/main")


class UnknownChange(Exception):
    """Git cannot determine the changes; the message has the reason."""


@dataclass(frozen=True)
class Change:
    base: str  #: the commit that the files are compared with
    words: str  #: description of that commit for the output
    present: frozenset[str]  #: files that were added or changed
    deleted: frozenset[str]  #: removed files; a renamed file has its old path here and its new path in `present`


def find_change(root: Path, since: str = "") -> Change:
    """Return the changes since the commit `since`, uncommitted changes and new files included.

    Without `since`, the base is the commit where the branch left main; on main it is the last commit, or the commit
    before it when nothing is uncommitted. Raises UnknownChange.
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
    changed_names = _run(root, "diff", "--no-renames", "--name-only", "-z", base)
    new = _run(root, "ls-files", "--others", "--exclude-standard", "-z")
    paths = {path for path in f"{changed_names}\0{new}".split("\0") if path}
    present = frozenset(path for path in paths if (root / path).is_file())
    return Change(base, words, present, frozenset(paths - present))


def _run(root: Path, *arguments: str) -> str:
    process = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
    if process.returncode:
        raise UnknownChange(f"git {arguments[0]}: {(process.stderr.strip() or 'failed').splitlines()[0]}")
    return process.stdout.strip("\n")
