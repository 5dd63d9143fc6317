"""How a page calls jobs: by their ids, and by what tells them from each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from lumos_queue.pages.limits import shorten
from lumos_queue.reports.differences import describe_differences, differences
from lumos_queue.reports.model_names import models_of, models_told, name_models

TOLD = 2  #: of what differs, in a label
MAX_LABEL, MAX_NAME = 40, 80  #: characters of it, and of names


@dataclass(frozen=True, slots=True)
class JobLabel:
    """What a job is called."""

    short: str  #: `k3f9a2cd one-pass`
    name: str  #: that its submitter gave it
    model: str  #: the names of its models
    differs: str  #: all in which it differs from the other jobs


def label_jobs(connection: Connection, jobs: Sequence[Any]) -> list[JobLabel]:
    """A label for each job's row."""
    told = models_told(connection, [job.id for job in jobs])
    models = [models_of(job, told.get(job.id)) for job in jobs]
    names = name_models(model for one in models for model in one.values())
    labels = []
    for job, found, mine in zip(jobs, differences(jobs, told), models, strict=True):
        lines = list(dict.fromkeys(describe_differences(found)))
        plain = ", ".join(lines[:TOLD]) or job.name or job.formulation or job.kind
        model = ", ".join(dict.fromkeys(names[one] for one in mine.values()))
        differs = ", ".join(lines) if len(lines) > TOLD else ""
        short = f"{job.id} {shorten(plain, MAX_LABEL)}"
        labels.append(
            JobLabel(short, shorten(job.name, MAX_NAME), shorten(model, MAX_NAME), shorten(differs, 3 * MAX_NAME))
        )
    return labels
