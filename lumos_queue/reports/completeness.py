"""Whether a job has a result of each of its items, and how a person goes on where it has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.states import ItemState, JobState

ENDED = (JobState.DONE, JobState.CANCELLED)  #: states of a job that nothing will happen to by itself


def completeness(job: Any, items: Mapping[str, int], endings: Mapping[str, int]) -> dict[str, Any]:
    """`complete`, and of a job (its row) that ended without it `lacking`, by what became of the items, and `go_on`.

    `items`: by state; `endings`: of its episodes. An episode that infrastructure ended has no result.
    """
    lacking = {state: count for state, count in items.items() if state != ItemState.DONE and count}
    if refused := endings.get("infra_error"):
        lacking["infra_error"] = refused
    found: dict[str, Any] = {"complete": not lacking}
    if lacking and job.state in ENDED:
        found |= {"lacking": lacking, "go_on": f"lumos resume {job.id}"}
    return found


def remark(report: Mapping[str, Any]) -> str:
    """One line on a job that ended incomplete, from its report or `completeness`; empty for any other."""
    if "go_on" not in report:
        return ""
    parts = ", ".join(f"{count:,} {_WORDS.get(name, name)}" for name, count in sorted(report["lacking"].items()))
    return f"incomplete: of its items {parts}. Go on with: {report['go_on']}"


_WORDS = {"infra_error": "ended by infra_error"}
