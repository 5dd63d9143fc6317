"""Export the places of an audit with their labels as a file for a labelling program."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from db.audits import AuditSlot
from db.episode_names import trajectory_of
from db.labels import newest_of_audit
from lumos_queue.reports.trajectory import trajectory_as_json
from lumos_queue.review.argilla import write_record
from lumos_queue.review.exported_slots import ExportedSlot, SlotLabel, texts_of
from lumos_queue.review.label_studio import write_task
from lumos_queue.scoring.sampling import decide_verdict

FORMATS: Mapping[str, Callable[[ExportedSlot], dict[str, Any]]] = {"label-studio": write_task, "argilla": write_record}


def write_labels(connection: Connection, audit: str, samples: Sequence[AuditSlot], form: str) -> bytes:
    """Return all places in the format `form` of FORMATS. Only places that have all their labels get a suggestion."""
    write = FORMATS[form]
    parts = [json.dumps(write(slot), ensure_ascii=False) for slot in _export(connection, audit, samples)]
    return ("[\n" + ",\n".join(parts) + "\n]\n").encode()


def _export(connection: Connection, audit: str, samples: Sequence[AuditSlot]) -> Iterator[ExportedSlot]:
    labels: dict[int, list[SlotLabel]] = {}
    for (episode, labeller), (value, note) in newest_of_audit(connection, audit).items():
        labels.setdefault(episode, []).append(SlotLabel(labeller, value, note))
    for sample in samples:
        trajectory = trajectory_of(connection, sample.episode)
        yield ExportedSlot(
            audit=audit,
            place=sample.number,
            episode=sample.name,
            texts=texts_of(trajectory_as_json(trajectory)),
            labels=labels.get(sample.episode, []),
            suggestion="" if sample.labels_left else decide_verdict(sample.score),
            metric=trajectory.job.main_metric,
        )
