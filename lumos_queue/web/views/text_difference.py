"""The removed, added and common lines of two texts."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq  # difflib takes the third power of the number of lines where many are equal

MAX_LINES = 2_000  #: of both texts together
SAME, REMOVED, ADDED = "same", "removed", "added"


def compare_lines(before: str, after: str) -> list[tuple[str, str]] | None:
    """Return (kind, line) for each line, in order; None if the texts have more than MAX_LINES lines together."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_LINES:
        return None
    lines: list[tuple[str, str]] = []
    at_old = at_new = 0
    for part in LCSseq.opcodes(old, new):
        if part.tag == "equal":
            lines += _changes(old[at_old : part.src_start], new[at_new : part.dest_start])
            lines += [(SAME, line) for line in old[part.src_start : part.src_end]]
            at_old, at_new = part.src_end, part.dest_end
    return lines + _changes(old[at_old:], new[at_new:])


def _changes(old_lines: Sequence[str], new_lines: Sequence[str]) -> list[tuple[str, str]]:
    return [(REMOVED, line) for line in old_lines] + [(ADDED, line) for line in new_lines]
