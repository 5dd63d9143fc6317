"""An episode with its labels, its pictures and the states before its decisions, for `lumos show`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lumos_queue.prompts.task_state import StateRecord, TaskState
from lumos_queue.reports.episode_values import EpisodeLabel, EpisodeReport
from lumos_queue.reports.json_values import MERGED, OPTIONAL
from lumos_queue.reports.pictures import Picture


@dataclass(frozen=True, slots=True)
class ReportedRecord:
    """What a call contributed to the state of a task (prompts.task_state.StateRecord)."""

    action: str
    arguments: str
    aim: str
    text: str
    summary: str | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class ReportedState:
    """The state of a task before a step."""

    at: int  #: position of the step
    results: Sequence[ReportedRecord]
    failures: Sequence[ReportedRecord]


@dataclass(frozen=True, slots=True)
class EpisodeDetails:
    """An episode, with what was read beside it; None: not read."""

    report: EpisodeReport = field(metadata=MERGED)
    labels: Sequence[EpisodeLabel] | None = field(default=None, metadata=OPTIONAL)
    pictures: Sequence[Picture] | None = field(default=None, metadata=OPTIONAL)
    saved: Sequence[str] | None = field(default=None, metadata=OPTIONAL)  #: the files that were written
    states: Sequence[ReportedState] | None = field(default=None, metadata=OPTIONAL)


def describe_state(at: int, state: TaskState) -> ReportedState:
    """Return the state before the step at a position."""
    return ReportedState(at, list(map(_describe_record, state.results)), list(map(_describe_record, state.failures)))


def _describe_record(record: StateRecord) -> ReportedRecord:
    return ReportedRecord(record.action, record.arguments, record.aim, record.text, record.summary or None)
