"""Turn the arguments of a call into a stored job, and start the work on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lumos_queue.api.connect import translate_failures
from lumos_queue.api.forks import note_call
from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.objects import address_of, name_benchmark, name_formulation
from lumos_queue.api.start import begin_job, call_outside_loop, log, store_job
from lumos_queue.errors import SpecError
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.file_options import read_file_options, read_judge_options
from lumos_queue.submission.file_request import FileRequest, list_rows, resolve_file, resolve_rows
from lumos_queue.submission.inference_options import InferenceOptions
from lumos_queue.submission.job_request import make_inference_job
from lumos_queue.submission.program_rows import GivenRows
from lumos_queue.submission.ranges import check_ranges
from lumos_queue.submission.request_options import read_system, read_template, write_fields
from lumos_queue.submission.role_samplings import COMMON, resolve_common
from lumos_queue.submission.tags import read_name_and_tags

_ROLES = ("planner", "grounder", "solver")  #: roles with their own argument


@translate_failures()
def submit_inference(kind: str, arguments: dict[str, Any]) -> JobHandle:
    """Submit a job of kind 'evaluate' or 'infer'. `arguments` are those of `evaluate`; their dictionary is changed."""
    deployment = arguments.pop("deployment") or read_settings()
    check_ranges(arguments, ("shots", *COMMON))
    name_and_tags = read_name_and_tags(arguments.pop("name"), pairs("tags", arguments.pop("tags")))
    again, rows = arguments.pop("again"), arguments.pop("rows")
    scheduling = Scheduling(arguments.pop("priority"), arguments.pop("concurrency"))
    models = {role: arguments.pop(role) for role in _ROLES} | check_mapping("roles", arguments.pop("roles"))
    addresses = {role: address_of(model, deployment) if model != "" else "" for role, model in models.items()}
    arguments |= {role: addresses.pop(role) for role in _ROLES}
    stop = arguments.pop("stop")
    file, rows = name_rows(kind, arguments, rows, deployment)
    request = InferenceOptions(
        benchmark=file.benchmark,
        data=file.data,
        split=file.split,
        definition=file.definition,
        formulation=name_formulation(arguments.pop("formulation"), deployment),
        roles=[*pairs("roles", addresses), *file.roles],
        stop=[stop] if isinstance(stop, str) else stop,
        system=read_system(arguments.pop("system")),
        prompt=read_template(arguments.pop("prompt")) or "",
        requests=write_fields({"": check_mapping("request", arguments.pop("request"))}),
        **resolve_common({name: arguments.pop(name) for name in COMMON}),
        **{name: pairs(name, arguments.pop(name)) for name in ("tools", "options", "settings", "samplings")},
        **arguments,
    )
    with note_call(deployment):
        job, read = call_outside_loop(lambda: make_inference_job(kind, request, deployment, log.warning, rows))
        row, new = store_job(
            deployment, job, read, log.warning, name_and_tags=name_and_tags, scheduling=scheduling, again=again
        )
    return handle_of(deployment, row, new)


def name_rows(
    kind: str, arguments: dict[str, Any], rows: GivenRows | None, deployment: Settings
) -> tuple[FileRequest, GivenRows | None]:
    """Remove the arguments about the rows from `arguments`. Return the request for a file, and the rows as a list."""
    benchmark, data, split = arguments.pop("benchmark"), arguments.pop("data"), arguments.pop("split")
    attributes = {name: arguments.pop(name) for name in ("scorer", "domain", "licence", "title")}
    judge = read_judge_options("", arguments.pop("rubric"), arguments.pop("grades"), arguments.pop("votes"))
    file_options = read_file_options(arguments.pop("fields"), attributes, judge)
    reader_options = pairs("options", arguments["options"])
    path = None if data is None else Path(data)
    if isinstance(benchmark, Path):
        benchmark = f"./{benchmark}" if benchmark.name == str(benchmark) else str(benchmark)
    if benchmark == "":
        if rows is None:
            raise SpecError("Nothing to evaluate: name a benchmark or a file, or give rows.")
        rows = list_rows(rows)
        return resolve_rows(rows, path, split, file_options, reader_options, log.warning, kind=kind), rows
    if isinstance(benchmark, str) and rows is None:
        file = resolve_file(benchmark, path, split, file_options, reader_options, log.warning, kind=kind)
        if file.definition:
            return file, None
    elif names := file_options.option_names:
        raise SpecError(f"{names[0]} is only for your own rows, without benchmark: leave out {names[0]} or benchmark.")
    return FileRequest(name_benchmark(benchmark, deployment), path, split), rows


def handle_of(deployment: Settings, row: Any, new: bool) -> JobHandle:
    """Start the work on a submitted job (its row); return its handle. `new`: whether the submission stored the job."""
    if not new:
        log.warning("job %s is the same request and is %s (again=True runs a new job)", row.id, row.state)
    begin_job(deployment, row)
    return JobHandle(row.id, deployment)


def pairs(argument: str, values: Mapping[str, Any] | None) -> list[str]:
    """Return the values as texts NAME=VALUE, as on the command line. `argument` is their name in messages."""
    return [f"{name}={value}" for name, value in check_mapping(argument, values).items()]


def check_mapping(argument: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values as a dictionary; {} for None. Raises SpecError for a value that is not a mapping."""
    if values is not None and not isinstance(values, Mapping):
        raise SpecError(f"{argument} is {values!r:.80}: expected a mapping of names to values, such as a dict.")
    return dict(values or {})
