"""Build a job and its rows from the options of `lumos convert`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.registry import find_registered_name, open_source
from lumos_queue.conversion.demos import LOW, SUBGOALS, demos_for
from lumos_queue.conversion.duplicates import find_duplicates
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.jobs.convert import TEACHER_CHECKS, TEACHING, Convert
from lumos_queue.readers.splits import split_of
from lumos_queue.settings import Settings
from lumos_queue.submission.agents import identify, parse_pairs, resolve_address
from lumos_queue.submission.budgets import check_prices
from lumos_queue.submission.file_options import FileOptions
from lumos_queue.submission.file_request import FileRequest
from lumos_queue.submission.own_source import check_own_source, own_split, require_marks
from lumos_queue.submission.program_rows import GivenRows
from lumos_queue.submission.requested_rows import is_stated, read_requested_rows
from lumos_queue.submission.requests import file_fields
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.store import Rows
from lumos_queue.submission.teacher_vision import check_vision, resolve_vision
from lumos_queue.util.plugins import TRUSTED

SAMPLED = 0.7  #: the temperature of several samples, unless a person chooses it


def make_conversion_job(
    request: ConversionRequest,
    file: FileRequest,
    settings: Settings,
    remark: Callable[[str], None],
    program_rows: GivenRows | None = None,
) -> tuple[Convert, Rows]:
    """Return the job and its rows, which `file` names. Without a broker, request the teacher's identity here.

    `program_rows` are rows in place of a file. `remark` gets each note of the source, one line for the person who
    submits. Raises SpecError for invalid options and for rows that cannot be read.
    """
    check_request(request)
    if (full_name := find_registered_name(file.benchmark)) != file.benchmark:
        raise SpecError(f"'{file.benchmark}' names a module: name the object in it, {full_name}")
    TRUSTED.add_named("" if file.definition else file.benchmark, request.teacher)
    source = open_source(file.benchmark, file.definition)
    if request.deterministic == bool(request.teacher):
        raise SpecError("Give either --teacher URL, or --deterministic for conversion by rule.")
    check_conversion(request)
    if isinstance(source, FileBenchmark):
        check_own_source(source, request.deterministic)
    elif request.teacher and not source.teacher_prompt:
        raise SpecError(f"'{file.benchmark}' is converted by rule: give --deterministic instead of --teacher.")
    _check_level(request, source)
    split = split_of(file.data, file.split or own_split(source, file.data, remark), source.teaching.splits)
    teacher = ""
    if request.teacher:
        demos_for(source.teacher_prompt, request.subgoals)
        teacher = resolve_address(request.teacher, bool(settings.broker_url))
    reader_options = parse_pairs("--option", request.options)
    vision = resolve_vision(source, teacher, request.vision)
    rows = read_requested_rows(
        source,
        file.data,
        split,
        request.skip_bad_rows,
        reader_options,
        None,
        settings,
        remark,
        program_rows,
        teaching=True,
    )
    for note in rows.benchmark.notes:
        remark(note)
    if isinstance(source, FileBenchmark) and request.deterministic:
        require_marks(source, rows.tasks)
    if teacher and not settings.broker_url:
        asyncio.run(identify({teacher}, settings, remark))
    check_vision(vision, teacher, rows, settings)
    job = Convert(
        source=file.benchmark,
        dataset=rows.digest,
        split=split,
        limit=request.limit,
        subgoals=request.subgoals,
        duplicates=find_duplicates(rows.tasks[: request.limit or None]),
        vision=vision,
        rule_version=source.newest_rules,
        teacher_checks=TEACHER_CHECKS if teacher else 0,
        definition=file.definition,
        published=is_stated(request.published, rows, file.data),
    )
    return apply_request(job, request, teacher), rows


def apply_request(job: Convert, request: ConversionRequest, teacher: str) -> Convert:
    """Return the job with the teacher's address and the values of the request that do not depend on the rows."""
    return replace(
        job,
        teacher=teacher,
        reasks=request.reasks,
        sampling=_make_teacher_sampling(request),
        prompt_price=request.price_prompt,
        completion_price=request.price_completion,
        budget=request.budget,
        seed=request.seed,
        perturbations=request.perturbations,
        most_tokens=request.longest,
        tokenizer=str(request.tokenizer.resolve()) if request.tokenizer else "",
        samples=request.samples,
    )


def check_conversion(request: ConversionRequest) -> None:
    """Raises SpecError for options that contradict each other, or have no effect. Their ranges are checked before."""
    if request.budget and not request.teacher:
        raise SpecError("--budget is for conversions by a teacher: give --teacher URL, or leave out --budget.")
    if request.samples > 1 and not request.teacher:
        raise SpecError("--samples is for conversions by a teacher: give --teacher URL, or leave out --samples.")
    if request.samples > 1 and request.temperature == 0:
        raise SpecError("--samples of a greedy teacher are equal: give a --temperature above 0, or leave it out.")
    check_prices(request.budget, request.price_prompt, request.price_completion)
    if request.tokenizer and not request.tokenizer.is_dir():
        raise SpecError(f"--tokenizer '{request.tokenizer}' is not a folder.")


def read_file_fields(request: ConversionRequest) -> FileOptions:
    """Return the options that describe a person's own file."""
    return FileOptions(**{name: getattr(request, name) for name in file_fields.NAMES})


def _make_teacher_sampling(request: ConversionRequest) -> Sampling:
    """Return the sampling of the teacher. Several samples need a temperature, because greedy samples are equal."""
    default = SAMPLED if request.samples > 1 else 0.0
    temperature = default if request.temperature is None else request.temperature
    return Sampling(temperature, 1.0, request.max_tokens, TEACHING.stop)


def _check_level(request: ConversionRequest, source: Benchmark) -> None:
    if request.subgoals not in SUBGOALS:
        raise unknown("kind of subgoals", request.subgoals, SUBGOALS)
    if request.deterministic and request.subgoals == LOW and source.domain != "maths":
        raise SpecError(f"--subgoals low by rule is only for arithmetic: '{source.name}' needs --teacher URL.")
