"""Build a job and its rows from the options of `lumos convert`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.from_file.definition import FileDefinition
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
from lumos_queue.submission.own_source import check_own_source, own_split, require_marks
from lumos_queue.submission.program_rows import GivenRows
from lumos_queue.submission.requested_rows import is_stated, read_requested_rows
from lumos_queue.submission.store import Rows
from lumos_queue.submission.teacher_vision import check_vision, resolve_vision
from lumos_queue.util.plugins import TRUSTED

SAMPLED = 0.7  #: the temperature of several samples, unless a person chooses it


@dataclass(frozen=True, slots=True)
class ConversionOptions:
    """The options of `lumos convert`."""

    source: str
    data: Path | None
    split: str
    limit: int
    deterministic: bool
    teacher: str
    subgoals: str
    reasks: int
    seed: int
    temperature: float | None  #: None: SAMPLED for several samples, else greedy
    max_tokens: int
    price_prompt: float
    price_completion: float
    budget: float
    perturbations: int
    longest: int
    tokenizer: Path | None
    skip_bad_rows: bool
    options: list[str]  #: NAME=VALUE, for the reader of the rows
    vision: str
    definition: FileDefinition | None = None  #: of the source, where its rows are of a person's own file
    published: bool = False  #: whether the person states that the rows are the published ones
    samples: int = 1  #: of the teacher for each row


def make_conversion_job(
    options: ConversionOptions, settings: Settings, remark: Callable[[str], None], program_rows: GivenRows | None = None
) -> tuple[Convert, Rows]:
    """Return the job and its rows. Without a broker, request the teacher's identity here.

    `program_rows` are rows in place of a file. `remark` gets each note of the source, one line for the person who
    submits. Raises SpecError for invalid options and for rows that cannot be read.
    """
    if (full_name := find_registered_name(options.source)) != options.source:
        raise SpecError(f"'{options.source}' names a module: name the object in it, {full_name}")
    TRUSTED.add_named("" if options.definition else options.source, options.teacher)
    source = open_source(options.source, options.definition)
    if options.deterministic == bool(options.teacher):
        raise SpecError("Give either --teacher URL, or --deterministic for conversion by rule.")
    if isinstance(source, FileBenchmark):
        check_own_source(source, options.deterministic)
    elif options.teacher and not source.teacher_prompt:
        raise SpecError(f"'{options.source}' is converted by rule: give --deterministic instead of --teacher.")
    _check_level(options, source)
    split = split_of(options.data, options.split or own_split(source, options.data, remark), source.teaching.splits)
    check_teacher_options(options)
    teacher = ""
    if options.teacher:
        demos_for(source.teacher_prompt, options.subgoals)
        teacher = resolve_address(options.teacher, bool(settings.broker_url))
    reader_options = parse_pairs("--option", options.options)
    vision = resolve_vision(source, teacher, options.vision)
    rows = read_requested_rows(
        source,
        options.data,
        split,
        options.skip_bad_rows,
        reader_options,
        None,
        settings,
        remark,
        program_rows,
        teaching=True,
    )
    for note in rows.benchmark.notes:
        remark(note)
    if isinstance(source, FileBenchmark) and options.deterministic:
        require_marks(source, rows.tasks)
    if teacher and not settings.broker_url:
        asyncio.run(identify({teacher}, settings, remark))
    check_vision(vision, teacher, rows, settings)
    job = Convert(
        source=options.source,
        dataset=rows.digest,
        split=split,
        limit=options.limit,
        teacher=teacher,
        subgoals=options.subgoals,
        reasks=options.reasks,
        sampling=make_teacher_sampling(options),
        prompt_price=options.price_prompt,
        completion_price=options.price_completion,
        budget=options.budget,
        seed=options.seed,
        perturbations=options.perturbations,
        most_tokens=options.longest,
        tokenizer=str(options.tokenizer.resolve()) if options.tokenizer else "",
        duplicates=find_duplicates(rows.tasks[: options.limit or None]),
        vision=vision,
        rule_version=source.newest_rules,
        teacher_checks=TEACHER_CHECKS if teacher else 0,
        samples=options.samples,
        definition=options.definition,
        published=is_stated(options.published, rows, options.data),
    )
    return job, rows


def check_teacher_options(options: ConversionOptions) -> None:
    """Raises SpecError for options of a teacher without a teacher, and for values that are out of range."""
    if options.budget and not options.teacher:
        raise SpecError("--budget is for conversions by a teacher: give --teacher URL, or leave out --budget.")
    if options.samples > 1 and not options.teacher:
        raise SpecError("--samples is for conversions by a teacher: give --teacher URL, or leave out --samples.")
    if options.samples > 1 and options.temperature == 0:
        raise SpecError("--samples of a greedy teacher are equal: give a --temperature above 0, or leave it out.")
    check_prices(options.budget, options.price_prompt, options.price_completion)
    if options.temperature is not None and not math.isfinite(options.temperature):
        raise SpecError("--temperature must be a finite number.")
    if options.tokenizer and not options.tokenizer.is_dir():
        raise SpecError(f"--tokenizer '{options.tokenizer}' is not a folder.")


def make_teacher_sampling(options: ConversionOptions) -> Sampling:
    """Return the sampling of the teacher. Several samples need a temperature, because greedy samples are equal."""
    default = SAMPLED if options.samples > 1 else 0.0
    temperature = default if options.temperature is None else options.temperature
    return Sampling(temperature, 1.0, options.max_tokens, TEACHING.stop)


def _check_level(options: ConversionOptions, source: Benchmark) -> None:
    if options.subgoals not in SUBGOALS:
        raise unknown("kind of subgoals", options.subgoals, SUBGOALS)
    if options.deterministic and options.subgoals == LOW and source.domain != "maths":
        raise SpecError(f"--subgoals low by rule is only for arithmetic: '{options.source}' needs --teacher URL.")
