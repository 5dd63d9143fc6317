"""Label the jobs on a page by their ids, and by how they differ from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.job_endpoints import load_served_models
from db.queue.stored_jobs import StoredJob
from lumos_queue.pages.limits import shorten
from lumos_queue.reports.differences import describe_differences, differences
from lumos_queue.reports.model_names import models_of, name_models

TOLD = 2  #: number of differences in a label
MAX_LABEL, MAX_NAME = 40, 80  #: characters of a label, and of names


@dataclass(frozen=True, slots=True)
class JobLabel:
    """The texts by which a page identifies a job."""

    short: str  #: `k3f9a2cd one-pass`
    model: str  #: the names of its models
    differences: Mapping[str, str]  #: all differences to the other jobs, by name


def label_jobs(connection: Connection, jobs: Sequence[StoredJob]) -> list[JobLabel]:
    """Return a label for each of these jobs."""
    served_models = load_served_models(connection, [job.id for job in jobs])
    models = [models_of(job, served_models.get(job.id)) for job in jobs]
    names = name_models(model for job_models in models for model in job_models.values())
    labels = []
    for job, job_differences, job_models in zip(jobs, differences(jobs, served_models), models, strict=True):
        lines = list(dict.fromkeys(describe_differences(job_differences)))
        plain = ", ".join(lines[:TOLD]) or job.name or job.formulation or job.kind
        model = ", ".join(dict.fromkeys(names[role_model] for role_model in job_models.values()))
        short = f"{job.id} {shorten(plain, MAX_LABEL)}"
        labels.append(JobLabel(short, shorten(model, MAX_NAME), job_differences))
    return labels
