"""The places of an audit in the form in which they are exported to labelling programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.reports.lanes import rows_of

MAX_TEXT = 20_000  #: characters of a text


@dataclass(frozen=True, slots=True)
class SlotLabel:
    """The newest label that a person gave to a place."""

    labeller: str
    value: str
    note: str
    step: str = ""  #: the wrong step, as `lumos label` names it; '' if the label names none
    kind: str = ""  #: the kind of fault; '' if the label names none


@dataclass(frozen=True, slots=True)
class ExportedSlot:
    """A place of an audit: an episode with the texts for its labeller, and its labels."""

    audit: str
    place: int
    episode: str  #: JOB-NUMBER
    texts: Mapping[str, str]  #: benchmark, question, steps, answer, gold
    labels: Sequence[SlotLabel]
    suggestion: str  #: `right` or `wrong`, by `metric`; '' if there is no suggestion
    metric: str


def texts_of(trajectory: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts that a labeller reads of a trajectory (reports.trajectory.trajectory_as_json), truncated."""
    lines = [" | ".join("".join(text for text, _ in cell) for cell in row if cell) for row in rows_of(trajectory)]
    return {
        "benchmark": trajectory["benchmark"],
        "question": _cut(trajectory["question"]),
        "steps": _cut("\n".join(lines)),
        "answer": "" if trajectory["answer"] is None else _cut(trajectory["answer"]),
        "gold": "" if trajectory["gold"] is None else _cut(trajectory["gold"]),
    }


def _cut(text: str) -> str:
    excess = len(text) - MAX_TEXT
    return text if excess <= 0 else f"{text[:MAX_TEXT]} [… {excess:,} characters left out]"
