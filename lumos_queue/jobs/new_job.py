"""Make the row of a new job, which a person submits, or another job that needs its results."""

from __future__ import annotations

import json
from typing import Any

from db.kinds.job_kinds import JobKind
from db.queue.new_jobs import NewJob
from lumos_queue.benchmarks.registry import definition_of, open_benchmark, open_source
from lumos_queue.commands import digest
from lumos_queue.conversion.verdicts import acceptance_metric
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.plugins import find_plugins, plugins_as_json
from lumos_queue.jobs.scheduling import DEFAULT_SCHEDULING, Scheduling
from lumos_queue.records import Origin
from lumos_queue.settings import Settings
from lumos_queue.util.version import code_version


def make_new_job(
    job: Job[Any],
    settings: Settings,
    *,
    split: str = "",
    licence: str = "",
    scheduling: Scheduling = DEFAULT_SCHEDULING,
    origin: Origin = Origin.RUN,
    digest_code_version: str = "",
) -> NewJob:
    """Return the row of a new job. `split` and `licence` are those of its dataset, `origin` is that of its episodes.

    `digest_code_version`: the version of the code in the job's digest; '' for that of this process.
    """
    spec = job.as_json()
    plugins = plugins_as_json(find_plugins(job.kind, spec))
    inner = spec.get("infer", spec)
    agent = getattr(getattr(job, "infer", job), "agent", None)
    return NewJob(
        kind=job.kind,
        pool=job.pool,
        digest=digest(
            job.kind, digest_code_version or code_version(), json.dumps(spec, sort_keys=True), *_digest_parts(plugins)
        ),
        spec=spec,
        benchmark=inner.get("benchmark", ""),
        formulation=inner.get("formulation", "annotation" if job.kind == JobKind.CONVERT else ""),
        agent=agent.digest if agent else "",
        split=split,
        licence=licence,
        seed=inner.get("seed", 0),
        project=settings.project,
        submitted_by=settings.user,
        priority=scheduling.priority,
        concurrency=scheduling.concurrency,
        code_version=code_version(),
        ordered=job.ordered,
        origin=origin,
        plugins=plugins,
        main_metric=_main_metric(job.kind, inner),
    )


def _main_metric(kind: JobKind, request: dict[str, Any]) -> str:
    """Return the main metric of a job's episodes; '' if these are not scored."""
    if kind == JobKind.EVALUATE:
        return open_benchmark(request["benchmark"], definition_of(request)).metrics[0]
    if kind == JobKind.CONVERT:
        return acceptance_metric(open_source(request["source"], definition_of(request)).check_level)
    return ""


def _digest_parts(plugins: list[dict[str, str]]) -> list[str]:
    """Return the texts about plug-ins that a job's digest includes; none without plug-ins."""
    return [json.dumps(plugins, sort_keys=True)] if plugins else []
