"""Resolve `run:JOB` in place of a model's address: the model that the training job wrote."""

from __future__ import annotations

import time
from collections.abc import Callable

from db.kinds.job_kinds import JobKind
from db.kinds.states import OPEN, JobState
from db.queries.jobs import get_job
from db.queue.stored_jobs import StoredJob
from db.queue.training_steps import list_models
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.models.file_states import PRESENT, state_of_files

SCHEME = "run:"
JOINT = "joint"
_POLL_SECONDS = 2.0


def is_run(url: str) -> bool:
    return url.startswith(SCHEME)


def resolve_run(url: str, role: str, deployment: Deployment, say: Callable[[str], None]) -> str:
    """Return the `local:` address of the model for a role. In a deployment, wait for the job if it still runs.

    Raises SpecError if the job is unknown, is not a training job, ended without a model, or trained another role,
    and if the model's files are missing or changed.
    """
    job = _wait_for_run(url.removeprefix(SCHEME), deployment, say)
    module = job.spec.get("module", JOINT)
    if module not in (JOINT, role):
        raise SpecError(f"{url}: the job trained the {module}; its model cannot be the {role}.")
    with deployment.database.engine.connect() as connection:
        models = [row for row in list_models(connection) if row.job == job.id]
    if not models:
        raise SpecError(f"{url}: the job wrote no model that can play a role. List models with: lumos models list")
    (model,) = models[:1]
    state = state_of_files(model)
    if state != PRESENT:
        raise SpecError(f"{url}: the files of the model in '{model.path}' are {state}: train it again.")
    return f"local:{model.path}"


def _wait_for_run(identifier: str, deployment: Deployment, say: Callable[[str], None]) -> StoredJob:
    """Wait for the training job, and return it. Raises SpecError if it will not finish."""
    is_announced = False
    while True:
        with deployment.database.engine.connect() as connection:
            job = get_job(connection, identifier)
        if job.kind != JobKind.TRAIN:
            raise SpecError(f"{SCHEME}{job.id}: this is a job of the kind {job.kind}, not a training job.")
        if job.state == JobState.DONE:
            return job
        if job.state not in OPEN or not deployment.broker:
            raise SpecError(f"{SCHEME}{job.id}: the job is {job.state}. Resume it with: lumos resume {job.id}")
        if not is_announced:
            say(f"waiting for the training job {job.id}")
            is_announced = True
        time.sleep(_POLL_SECONDS)
