"""A place of an audit as it is written for programs in which people label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.reports.lanes import rows_of

MAX_TEXT = 20_000  #: characters of one text


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """A person's newest label of a place."""

    labeller: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class ExportedPlace:
    """A place, what a labeller reads of its episode, and its labels."""

    audit: str
    place: int
    episode: str  #: JOB-NUMBER
    texts: Mapping[str, str]  #: benchmark, question, steps, answer, gold
    labels: Sequence[GivenLabel]
    suggestion: str  #: `right` or `wrong`, by `metric`; empty where none is told
    metric: str


def texts_of(found: Mapping[str, Any]) -> dict[str, str]:
    """What a labeller reads of a trajectory (reports.trajectory.trajectory_as_json); long texts are cut."""
    lines = [" | ".join("".join(text for text, _ in cell) for cell in row if cell) for row in rows_of(found)]
    return {
        "benchmark": found["benchmark"],
        "question": _cut(found["question"]),
        "steps": _cut("\n".join(lines)),
        "answer": "" if found["answer"] is None else _cut(found["answer"]),
        "gold": "" if found["gold"] is None else _cut(found["gold"]),
    }


def _cut(text: str) -> str:
    more = len(text) - MAX_TEXT
    return text if more <= 0 else f"{text[:MAX_TEXT]} [… {more:,} characters left out]"
