"""Export the places of an audit with their labels as a file for a labelling program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from db.engine.connection import Connection, Database
from db.engine.snapshot import reading
from db.journal.step_records import RecordedStep
from db.queries.episode_names import trajectory_of
from db.queries.labels import NewestLabel, newest_of_audit
from db.queries.step_names import name_of_step
from db.review.audits import AuditSlot
from lumos_queue.errors import SpecError
from lumos_queue.reports.trajectory import describe_trajectory
from lumos_queue.review.argilla import write_record
from lumos_queue.review.exported_slots import ExportedSlot, SlotLabel, texts_of
from lumos_queue.review.label_studio import write_task
from lumos_queue.scoring.sampling import decide_verdict

CHUNK = 20  #: places that a stream reads at once
FORMATS: Mapping[str, Callable[[ExportedSlot], dict[str, Any]]] = {"label-studio": write_task, "argilla": write_record}


def write_labels(connection: Connection, audit: str, samples: Sequence[AuditSlot], form: str) -> bytes:
    """Return all places in the format `form` of FORMATS. Only places that have all their labels get a suggestion."""
    labels = _read_labels(connection, audit)
    parts = [_write_slot(connection, audit, sample, labels, form) for sample in samples]
    return ("[\n" + ",\n".join(parts) + "\n]\n").encode()


def stream_labels(database: Database, audit: str, samples: Sequence[AuditSlot], form: str) -> Iterator[str]:
    """Yield the text of `write_labels` in chunks, each of which is read in its own transaction.

    A place whose job is removed meanwhile is left out.
    """
    with reading(database) as connection:
        labels = _read_labels(connection, audit)
    separator = "[\n"
    for start in range(0, len(samples), CHUNK):
        parts = []
        with reading(database) as connection:
            for sample in samples[start : start + CHUNK]:
                with suppress(SpecError):
                    parts.append(_write_slot(connection, audit, sample, labels, form))
        if parts:
            yield separator + ",\n".join(parts)
            separator = ",\n"
    yield "\n]\n" if separator == ",\n" else "[\n\n]\n"


def _read_labels(connection: Connection, audit: str) -> dict[int, list[tuple[str, NewestLabel]]]:
    """Return (labeller, newest label) of each person, by episode."""
    labels: dict[int, list[tuple[str, NewestLabel]]] = {}
    for (episode, labeller), label in newest_of_audit(connection, audit).items():
        labels.setdefault(episode, []).append((labeller, label))
    return labels


def _write_slot(
    connection: Connection,
    audit: str,
    sample: AuditSlot,
    labels: Mapping[int, Sequence[tuple[str, NewestLabel]]],
    form: str,
) -> str:
    trajectory = trajectory_of(connection, sample.episode)
    slot = ExportedSlot(
        audit=audit,
        place=sample.number,
        episode=sample.name,
        texts=texts_of(describe_trajectory(trajectory)),
        labels=[
            SlotLabel(labeller, label.value, label.note, _name_step(trajectory.steps, label), label.wrong_kind)
            for labeller, label in labels.get(sample.episode, [])
        ],
        suggestion="" if sample.labels_left else decide_verdict(sample.score),
        metric=trajectory.job.main_metric,
    )
    return json.dumps(FORMATS[form](slot), ensure_ascii=False)


def _name_step(steps: Sequence[RecordedStep], label: NewestLabel) -> str:
    position, branch = label.wrong_position, label.wrong_branch
    return "" if position is None else name_of_step(steps, position, branch or 0)
