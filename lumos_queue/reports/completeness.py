"""Whether a job has a result for each of its items, and the command to go on if it has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ENDED = ("done", "cancelled")  #: states that a job does not leave by itself


def completeness(job: Any, items: Mapping[str, int], endings: Mapping[str, int]) -> dict[str, Any]:
    """`complete`; for a job (its row) that ended incomplete also `lacking` (items by state) and `go_on`.

    `items`: counts by state; `endings`: counts of its episodes. An episode that ended with infra_error has no result.
    """
    lacking = {state: count for state, count in items.items() if state != "done" and count}
    if refused := endings.get("infra_error"):
        lacking["infra_error"] = refused
    found: dict[str, Any] = {"complete": not lacking}
    if lacking and job.state in ENDED:
        found |= {"lacking": lacking, "go_on": f"lumos resume {job.id}"}
    return found


def remark(report: Mapping[str, Any]) -> str:
    """One line about a job that ended incomplete, from its report or `completeness`; empty for any other."""
    if "go_on" not in report:
        return ""
    parts = ", ".join(f"{count:,} {_WORDS.get(name, name)}" for name, count in sorted(report["lacking"].items()))
    return f"incomplete: of its items {parts}. Go on with: {report['go_on']}"


_WORDS = {"infra_error": "ended with infra_error"}
