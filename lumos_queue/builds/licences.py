"""The licences of a build's rows: names, counts and warnings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.benchmarks.registry import is_test
from lumos_queue.row_origins.origins import STATED_REMARK

UNKNOWN = "unknown"
_NON_COMMERCIAL = re.compile(r"(?<![A-Za-z])NC(?![A-Za-z])|non-?commercial", re.IGNORECASE)


def name_rows(manifest: Mapping[str, Any], benchmark: str, licence: str) -> str:
    """Return the label of a benchmark's rows under a licence, with a remark if the rows are not verified."""
    if licence.startswith(UNKNOWN):
        return f"{benchmark} (rows not verified)" if benchmark in manifest.get("not_verified", ()) else benchmark
    return f"{benchmark} ({STATED_REMARK})" if benchmark in manifest.get("stated_published", ()) else benchmark


def is_non_commercial(licence: str) -> bool:
    """Whether a licence forbids commercial use, by its name: `CC BY-NC 4.0`, `CC-BY-NC-SA-4.0`, …"""
    return bool(_NON_COMMERCIAL.search(licence))


def licence_of_unverified(licence: str) -> str:
    """Return the licence of rows that were read under a benchmark's name, but may not be its published rows.

    The licence is unknown. A benchmark's non-commercial `licence` is added, because the rows may be the published rows.
    """
    return f"{UNKNOWN} (that of the published rows: {licence})" if is_non_commercial(licence) else UNKNOWN


@dataclass(frozen=True, slots=True)
class FilteredRows:
    """What a filter of rows refused, and what users of the written rows need to know."""

    of_test_split: int  #: rows that were refused
    warning: str  #: about licences; '' without one


class RowFilter:
    """A filter that keeps rows of test splits out of a file, and counts the other rows by licence."""

    def __init__(self, allow_test: bool):
        self._allow_test = allow_test
        self._licences: dict[str, dict[str, int]] = {}
        self._refusals = 0

    def admit(self, split: str, licence: str, benchmark: str) -> bool:
        """Return whether the row of that split may be written, and count the row as written or refused."""
        if is_test(benchmark, split) and not self._allow_test:
            self._refusals += 1
            return False
        counts = self._licences.setdefault(licence or UNKNOWN, {})
        counts[benchmark] = counts.get(benchmark, 0) + 1
        return True

    def report(self) -> FilteredRows:
        """Return the number of refused rows, and the warning about the licences of the written rows."""
        return FilteredRows(self._refusals, warning(self._licences))


def strictness(licence: str) -> int:
    """Return 2 for non-commercial use only, 1 for an unknown licence, 0 for every other licence."""
    return 2 if is_non_commercial(licence) else int(licence in ("", UNKNOWN))


def warning(licences: Mapping[str, Mapping[str, int]]) -> str:
    """Return the warning for users of the rows; '' when every licence is known and allows commercial use.

    `licences` maps each licence to the number of rows by benchmark.
    """
    total = sum(sum(rows.values()) for rows in licences.values())
    bad = {name: rows for name, rows in licences.items() if is_non_commercial(name)}
    sentences = []
    for verb, are_known in (("are", True), ("may be", False)):
        alike = {name: rows for name, rows in bad.items() if name.startswith(UNKNOWN) != are_known}
        if alike:
            names = "; ".join(f"{', '.join(sorted(rows))} ({name})" for name, rows in sorted(alike.items()))
            count = sum(sum(rows.values()) for rows in alike.values())
            sentences.append(f"{count:,} of {total:,} rows {verb} licensed for non-commercial use only: {names}.")
    unknown = sum(sum(rows.values()) for name, rows in licences.items() if name.startswith(UNKNOWN))
    if unknown:
        sentences.append(f"The licence of {unknown:,} of {total:,} rows is unknown.")
    return " ".join(sentences)
