"""Changes that no test can notice, which `equivalents.toml` lists with reasons."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tests.mutants.mutant import Change

ACCEPTED = Path(__file__).with_name("equivalents.toml")
KEYS = {"module", "function", "before", "after", "reason"}


def read_equivalents(path: Path = ACCEPTED) -> dict[Change, str]:
    """Return the reason why a change makes no difference, by change.

    Raises ValueError for an entry with other keys, or without a reason.
    """
    equivalents = {}
    for number, entry in enumerate(tomllib.loads(path.read_text()).get("equivalent", []), start=1):
        if set(entry) != KEYS or not entry["reason"].strip():
            raise ValueError(f"{path.name}, entry {number}: expected {', '.join(sorted(KEYS))}, none of them empty")
        before, after = (
            "\n".join(line.strip() for line in entry[key].strip().splitlines()) for key in ("before", "after")
        )
        equivalents[Change(entry["module"], entry["function"], before, after)] = entry["reason"]
    return equivalents


def find_stale(
    equivalents: Mapping[Change, str], changes: Collection[Change], killed_changes: Iterable[Change]
) -> list[tuple[Change, str]]:
    """Return the wrong entries for modules with generated mutants, each with the problem."""
    modules = {change.module for change in changes}
    refuted_changes = set(killed_changes)
    stale = []
    for change in equivalents:
        if change.module in modules and change not in changes:
            stale.append((change, "no mutant equals it; remove the entry"))
        elif change in refuted_changes:
            stale.append((change, "a test noticed it, so it is not equivalent; remove the entry"))
    return stale
