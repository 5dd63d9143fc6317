"""The places of an audit in the form in which they are exported to labelling programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lumos_queue.reports.episode_values import EpisodeReport
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


def texts_of(episode: EpisodeReport) -> dict[str, str]:
    """Return the texts that a labeller reads of an episode, truncated."""
    lines = [" | ".join("".join(text for text, _ in cell) for cell in row if cell) for row in rows_of(episode)]
    return {
        "benchmark": episode.benchmark,
        "question": _cut(episode.question),
        "steps": _cut("\n".join(lines)),
        "answer": "" if episode.answer is None else _cut(episode.answer),
        "gold": "" if episode.gold is None else _cut(episode.gold),
    }


def _cut(text: str) -> str:
    excess = len(text) - MAX_TEXT
    return text if excess <= 0 else f"{text[:MAX_TEXT]} [… {excess:,} characters left out]"
