"""Two texts line by line: what went, what came, and what stayed."""

from __future__ import annotations

from rapidfuzz.distance import LCSseq  # difflib takes the third power of the number of lines where many are equal

MAX_LINES = 2_000  #: of both texts together that are compared
SAME, REMOVED, ADDED = "same", "removed", "added"


def compare_lines(before: str, after: str) -> list[tuple[str, str]] | None:
    """(kind, line) in order; None for texts of more than MAX_LINES lines."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > MAX_LINES:
        return None
    found: list[tuple[str, str]] = []
    for tag, old_from, old_to, new_from, new_to in LCSseq.opcodes(old, new):
        if tag == "equal":
            found += [(SAME, line) for line in old[old_from:old_to]]
            continue
        found += [(REMOVED, line) for line in old[old_from:old_to]]
        found += [(ADDED, line) for line in new[new_from:new_to]]
    return found
