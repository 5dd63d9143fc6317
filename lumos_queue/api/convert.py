"""Submit conversions, as `lumos convert` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from db.kinds.job_kinds import JobKind
from lumos_queue.api.argument_types import Model, Values
from lumos_queue.api.arguments import pairs
from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.objects import address_of
from lumos_queue.api.request_arguments import takes_options
from lumos_queue.api.start import call_outside_loop, log, store_job
from lumos_queue.api.submit import handle_of, name_rows, read_submit_options
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.deployment.forks import note_call
from lumos_queue.records import Task
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.conversion_request import make_conversion_job
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.requests.option import Entrance
from lumos_queue.submission.requests.reading import make_request

if TYPE_CHECKING:
    from lumos_queue.api.keyword_arguments import ConversionArguments

NO_JUDGE: Mapping[str, Any] = {"rubric": "", "grades": 0, "votes": 0}  #: no model judges the answers of a conversion


@takes_options(ConversionRequest)
def convert(
    benchmark: str | Path | Benchmark = "",
    *,
    rows: Iterable[Task | Mapping[str, Any]] | None = None,
    teacher: Model = "",
    options: Values | None = None,
    name: str = "",
    tags: Values | None = None,
    again: bool = False,
    priority: int = 0,
    concurrency: int = 0,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    deployment: Settings | None = None,
    **values: Unpack[ConversionArguments],
) -> JobHandle:
    """Turn gold rationales into annotated episodes: by the model `teacher`, or by rules without a teacher.

    The other arguments are those of `lumos convert` (docs/commands.md), return value and errors those of `evaluate`.
    If the rows are your own (a file, or `rows` without a benchmark), `fields` must name their field of rationales.

    >>> import lumos_queue as lq
    >>> job = lq.convert("wordmath", split="train", limit=20).wait()
    >>> job.episodes("level>=executed").count()
    20
    """
    submit_options = read_submit_options(name, tags, again, priority, concurrency)
    deployment = deployment or read_settings()
    address = address_of(teacher, deployment) if teacher else ""
    arguments = {**values, "options": tuple(pairs("options", options)), "teacher": address}
    request = make_request(ConversionRequest, arguments, Entrance.PYTHON)
    request = replace(request, deterministic=not teacher)
    named_rows = {name: getattr(request, name) for name in ("data", "split", "scorer", "domain", "licence", "title")}
    named_rows |= {"benchmark": benchmark, "options": options, "fields": fields, **NO_JUDGE}
    file, read_rows = name_rows(JobKind.CONVERT, named_rows, rows, deployment)
    with note_call(deployment), Deployment(deployment) as opened:
        job, read = call_outside_loop(lambda: make_conversion_job(request, file, deployment, log.warning, read_rows))
        row, new = store_job(opened, job, read, submit_options, log.warning)
    return handle_of(deployment, row, new)
