"""Turn the arguments of a call into a stored job, and start the work on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from db.kinds.job_kinds import JobKind
from lumos_queue.api.arguments import check_mapping, pairs, read_arguments
from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.objects import address_of, name_benchmark, name_formulation
from lumos_queue.api.start import begin_job, call_outside_loop, log, store_job
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.deployment.forks import note_call
from lumos_queue.errors import SpecError
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.agents import ROLE_OPTIONS
from lumos_queue.submission.file_options import read_file_options, read_judge_options, read_row_fields
from lumos_queue.submission.file_request import FileRequest, is_own_file, list_rows, resolve_file, resolve_rows
from lumos_queue.submission.job_request import make_inference_job
from lumos_queue.submission.program_rows import GivenRows
from lumos_queue.submission.requests.checks import check_request, spell_errors, spell_remark
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import Entrance
from lumos_queue.submission.requests.scheduling import SchedulingRequest
from lumos_queue.submission.submit_options import SubmitOptions
from lumos_queue.submission.tags import read_name_and_tags


def submit_inference(
    kind: JobKind,
    benchmark: str | Path | Benchmark,
    rows: GivenRows | None,
    fields: Mapping[str, str | Sequence[str]] | None,
    options: Mapping[str, Any],
    name: str,
    tags: Mapping[str, Any] | None,
    again: bool,
    priority: int,
    concurrency: int,
    deployment: Settings | None,
) -> JobHandle:
    """Submit a job of kind 'evaluate' or 'infer'. The arguments are those of `evaluate`."""
    deployment = deployment or read_settings()
    submit_options = read_submit_options(name, tags, again, priority, concurrency)
    rows = None if rows is None else list_rows(rows)
    own_fields = read_row_fields(fields)
    arguments = _name_objects(options, deployment)
    source = _name_source(benchmark, rows, deployment)
    request = read_arguments(InferenceRequest, arguments, benchmark=source, **own_fields)
    remark = spell_remark(log.warning, InferenceRequest, Entrance.PYTHON)
    with note_call(deployment), Deployment(deployment) as opened:
        job, read = call_outside_loop(lambda: make_inference_job(kind, request, opened, remark, rows))
        row, new = store_job(opened, job, read, submit_options, log.warning)
    return handle_of(deployment, row, new)


def read_submit_options(
    name: str, tags: Mapping[str, Any] | None, again: bool, priority: int, concurrency: int = 0
) -> SubmitOptions:
    """Return the options of a submission. Raises SpecError for a value that cannot be used."""
    name_and_tags = read_name_and_tags(name, pairs("tags", tags))
    with spell_errors(SchedulingRequest, Entrance.PYTHON):
        check_request(SchedulingRequest(priority, concurrency))
    return SubmitOptions(name_and_tags, Scheduling(priority, concurrency), again)


def _name_objects(options: Mapping[str, Any], deployment: Settings) -> dict[str, Any]:
    """Return the options with addresses for models, and with a name for a formulation that is an object."""
    arguments = dict(options)
    for role in ROLE_OPTIONS:
        if (model := arguments.get(role, "")) != "":
            arguments[role] = address_of(model, deployment)
    arguments["roles"] = {
        role: address_of(model, deployment) for role, model in check_mapping("roles", arguments.get("roles")).items()
    }
    if "formulation" in arguments:
        arguments["formulation"] = name_formulation(arguments["formulation"], deployment)
    return arguments


def _name_source(benchmark: str | Path | Benchmark, rows: GivenRows | None, deployment: Settings) -> str:
    """Return the name of a benchmark, or the path of a person's own file; '' for rows without a benchmark."""
    if isinstance(benchmark, Path):
        return f"./{benchmark}" if benchmark.name == str(benchmark) else str(benchmark)
    if isinstance(benchmark, str) and (not benchmark or (rows is None and is_own_file(benchmark))):
        return benchmark
    return name_benchmark(benchmark, deployment)


def name_rows(
    kind: JobKind, arguments: dict[str, Any], rows: GivenRows | None, deployment: Settings
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
