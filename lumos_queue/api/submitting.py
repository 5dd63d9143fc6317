"""From the arguments of a call to a stored job on which work begins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.objects import address_of, name_benchmark, name_formulation
from lumos_queue.api.starting import begin_job, call_outside_loop, log, store_job
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.job_request import InferenceOptions, make_inference_job
from lumos_queue.submission.tags import read_name_and_tags


def submit_inference(kind: str, given: dict[str, Any]) -> JobHandle:
    """The job of kind 'evaluate' or 'infer'; `given`: the arguments of `evaluate`."""
    deployment = given.pop("deployment") or read_settings()
    named = read_name_and_tags(given.pop("name"), pairs(given.pop("tags")))
    again, priority, rows = given.pop("again"), given.pop("priority"), given.pop("rows")
    others = {role: address_of(model, deployment) for role, model in (given.pop("roles") or {}).items()}
    given |= {role: address_of(given[role], deployment) for role in ("planner", "grounder", "solver") if given[role]}
    for role in ("planner", "grounder", "solver"):
        given[role] = others.pop(role, given[role])
    data = given.pop("data")
    asked = InferenceOptions(
        benchmark=name_benchmark(given.pop("benchmark"), deployment),
        data=None if data is None else Path(data),
        formulation=name_formulation(given.pop("formulation"), deployment),
        roles=pairs(others),
        answer_by=given.pop("answer"),
        **{name: pairs(given.pop(name)) for name in ("tools", "options", "settings", "samplings")},
        **given,
    )
    job, read = call_outside_loop(lambda: make_inference_job(kind, asked, deployment, log.warning, rows))
    row, new = store_job(deployment, job, read, log.warning, named=named, priority=priority, again=again)
    return handle_of(deployment, row, new)


def handle_of(deployment: Settings, row: Any, new: bool) -> JobHandle:
    """The handle of a job that was just stored, on which work begins."""
    if not new:
        log.warning("job %s is the same request and is %s (again=True runs a new job)", row.id, row.state)
    begin_job(deployment, row)
    return JobHandle(row.id, deployment)


def pairs(values: Mapping[str, Any] | None) -> list[str]:
    """NAME=VALUE texts, as the command line has them."""
    return [f"{name}={value}" for name, value in (values or {}).items()]
