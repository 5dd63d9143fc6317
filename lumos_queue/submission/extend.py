"""Make a job with more or fewer rows or samples than an earlier job. It adopts that job's finished episodes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from db.engine.connection import Connection, Database
from db.kinds.job_kinds import RUNS, JobKind
from db.queries.job_endpoints import endpoints_of
from db.queue.datasets import count_rows
from db.queue.figures import code_versions, count_endings, totals
from db.queue.stored_jobs import StoredJob
from db.transfer.adopt import MANY, Source, count_adoptable, find_twins, store_adopting
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.new_job import make_new_job
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.records import Ending, Origin
from lumos_queue.settings import Settings
from lumos_queue.submission.agents import identify
from lumos_queue.submission.job_request import check_inference, make_job_on
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.rerun import Remark, Repeat
from lumos_queue.submission.stored_request import change_request, check_kind, infer_of
from lumos_queue.util.version import code_version

#: Fields of an endpoint's identity that identify the model; other fields, such as its release, may change.
_MODEL = ("model", "model_id", "model_sha", "sha256", "root")
_UNCHANGING = ("local:", "scripted:")  #: addresses whose content is part of the agent


def make_extension(
    deployment: Deployment,
    job: StoredJob,
    changes: InferenceRequest,
    names: Collection[str],
    scheduling: Scheduling,
    remark: Remark,
) -> Repeat:
    """Return the job that extends `job` to other numbers of rows and samples.

    `names` are the fields of `changes` that are changed. If episodes remain to be run, the agent is checked like the
    agent of a new job. Raises SpecError if nothing can be adopted.
    """
    check_kind(job, "extend")
    # Adopted episodes must be those that the same request would give today.
    check_plugins(job, remedy="run the whole of it with what is here: lumos rerun {job}")
    former = infer_of(job)
    check_request(changes)
    _check(job, former, names)
    infer = replace(former, **{name: getattr(changes, name) for name in names})
    source = Source(job.id, job.items // former.samples, code_version(), job.agent)
    with deployment.database.engine.connect() as connection:
        rows = count_rows(connection, former.dataset)
        tasks = min(infer.limit or rows, rows)
        adoptable = count_adoptable(connection, source, tasks, infer.samples)
        finished_count = sum(
            count for name, count in count_endings(connection, job.id).items() if name != Ending.INFRA_ERROR
        )
        refusal = _describe_refusal(connection, job, finished_count, tasks, infer.samples) if not adoptable else ""
    if refusal:
        raise SpecError(refusal)
    items = tasks * infer.samples
    request: Job[Any] = Evaluate(infer) if job.kind == JobKind.EVALUATE else infer
    if adoptable < items:
        request = _make_job(deployment, job, infer, remark)
    if infer.limit > rows:
        remark(f"there are only {rows:,} rows, and the job uses all of them")
    message = f"adopts {adoptable:,} of {items:,} episodes from job {job.id}"
    new = make_new_job(
        request,
        deployment.settings,
        split=job.split,
        licence=job.licence,
        scheduling=scheduling,
        origin=Origin(job.origin),
    )
    store = store_adopting(source, former.dataset, tasks)
    return Repeat(replace(new, parent=job.id), former.dataset, items, store, MANY, message)


def _check(job: StoredJob, former: Infer, names: Collection[str]) -> None:
    if not names:
        raise SpecError(f"Say how far job {job.id} is to be extended: give --limit N, --samples K, or both.")
    if job.chosen:
        raise SpecError(
            f"Job {job.id} cannot be extended: it ran only tasks of job {job.parent} that {job.chosen} chose. "
            f"Choose other tasks: lumos rerun {job.parent} --where …"
        )
    if former.draw and "limit" in names:
        raise SpecError(f"Job {job.id} draws sample sets (--draw {former.draw}): it has no --limit. Give --samples.")


def _describe_refusal(connection: Connection, job: StoredJob, finished_count: int, tasks: int, samples: int) -> str:
    """Return why nothing of a job can be adopted, and what to do."""
    if not finished_count:
        return f"Job {job.id} has finished no episode that could be adopted. Resume it with: lumos resume {job.id}"
    rerun = f"Run them again: lumos rerun {job.id} --limit {tasks} --samples {samples}"
    versions = [version for version, _ in code_versions(connection, job.id)]
    if code_version() not in versions:
        return (
            f"Nothing of job {job.id} can be adopted: the code version of its {finished_count:,} finished episodes is "
            f"{', '.join(versions)}, and this is {code_version()}. {rerun}"
        )
    return f"No finished episode of job {job.id} is among the first {tasks:,} rows, {samples} samples each. {rerun}"


def _make_job(deployment: Deployment, job: Any, infer: Infer, remark: Remark) -> Job[Any]:
    """Return the job of the request `infer`.

    Raises SpecError if the agent's weights, its tools' files or the models at its addresses have changed. Without a
    broker, request the servers' identities here. With a broker, only workers may reach the servers; they request the
    identities later.
    """
    urls = () if deployment.broker else infer.agent.roles.values()
    addresses = {url for url in urls if not url.startswith(_UNCHANGING)}
    identities = asyncio.run(identify(addresses, deployment.settings, remark))
    checked = check_inference(job.kind, *change_request(infer, InferenceRequest(), ()), _ignore)
    new_job = make_job_on(checked, infer.dataset, deployment, _ignore)
    agent = (new_job.infer if isinstance(new_job, Evaluate) else new_job).agent
    rerun = f"Run it again: lumos rerun {job.id} --limit {infer.limit} --samples {infer.samples}"
    if agent.digest != job.agent:
        before, after = infer.agent.as_json(), agent.as_json()
        differences = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        raise SpecError(f"The agent of job {job.id} has changed ({', '.join(differences)} differ). {rerun}")
    with deployment.database.engine.connect() as connection:
        before = {
            endpoint.url: endpoint.identity for endpoint in endpoints_of(connection, job.id)
        }  # the latest of each
    for url in sorted(addresses & before.keys()):
        models = [
            {name: identity[name] for name in _MODEL if name in identity} for identity in (before[url], identities[url])
        ]
        if models[0] != models[1]:
            former_model, current_model = (", ".join(map(str, model.values())) for model in models)
            raise SpecError(
                f"The model at {url} was {former_model} in job {job.id}, and is {current_model} now. {rerun}"
            )
    return new_job


def _ignore(_line: str) -> None:
    """Ignore remarks, because they were displayed when the original job was submitted."""


def remark_on_extend(database: Database, settings: Settings, job: Job[Any]) -> str:
    """Return one line that suggests `lumos extend` if a stored job differs from `job` only in rows and samples.

    Return '' if no such job has finished episodes.
    """
    if job.kind not in RUNS:
        return ""
    new = make_new_job(job, settings)
    request = _without_size(new.spec)
    infer = new.spec.get("infer", new.spec)
    with database.engine.connect() as connection:
        twins = find_twins(connection, new.kind, infer["dataset"], new.agent, new.code_version)
        if any(twin.digest == new.digest for twin in twins):
            return ""
        for twin in twins:
            former = twin.spec.get("infer", twin.spec)
            if _without_size(twin.spec) != request or not (finished_count := totals(connection, twin.id).finished):
                continue
            options = [f"--{name} {infer[name]}" for name in ("limit", "samples") if infer[name] != former[name]]
            if not options:  # it needs other plug-ins
                continue
            return (
                f"job {twin.id} has finished {finished_count:,} episodes of this request with another --limit or "
                f"--samples. To adopt them, and make no call twice, give instead: lumos extend {twin.id} "
                f"{' '.join(options)}"
            )
    return ""


def _without_size(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a stored request without `limit` and `samples`, the numbers of its rows and samples."""
    infer = json.loads(json.dumps(spec.get("infer", spec)))
    return {name: value for name, value in infer.items() if name not in ("limit", "samples")}
