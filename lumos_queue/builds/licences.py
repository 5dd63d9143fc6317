"""What the licences of a build's rows allow."""

from __future__ import annotations

import re
from collections.abc import Mapping

UNKNOWN = "unknown"
_NON_COMMERCIAL = re.compile(r"(?<![A-Za-z])NC(?![A-Za-z])|non-?commercial", re.IGNORECASE)


def is_non_commercial(licence: str) -> bool:
    """Whether a licence forbids commercial use, by its name: `CC BY-NC 4.0`, `CC-BY-NC-SA-4.0`, …"""
    return bool(_NON_COMMERCIAL.search(licence))


def warning(licences: Mapping[str, Mapping[str, int]]) -> str:
    """What must be known before the rows are used: '' when every licence is known and none is non-commercial.

    `licences` is licence to benchmark to rows.
    """
    total = sum(sum(rows.values()) for rows in licences.values())
    bad = {name: rows for name, rows in licences.items() if is_non_commercial(name)}
    told = []
    if bad:
        named = "; ".join(f"{', '.join(sorted(rows))} ({name})" for name, rows in sorted(bad.items()))
        count = sum(sum(rows.values()) for rows in bad.values())
        told.append(f"{count:,} of {total:,} rows are licensed for non-commercial use only: {named}.")
    if unknown := sum(licences.get(UNKNOWN, {}).values()):
        told.append(f"The licence of {unknown:,} of {total:,} rows is unknown.")
    return " ".join(told)
