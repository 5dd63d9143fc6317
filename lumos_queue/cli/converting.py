"""Commands of conversion: convert, and budget, which changes what a conversion may cost."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

if TYPE_CHECKING:
    from lumos_queue.jobs.convert import Convert
    from lumos_queue.settings import Settings
    from lumos_queue.submission.store import Rows

Source = Annotated[str, typer.Argument(
    help="gsm8k, svamp, mawps, asdiv, wordmath, strategyqa, musique, hotpotqa, mind2web, spider, prm800k, aokvqa, "
         "webshop, rewoo, or a module of your own: mylab.travelplanner.")]  # fmt: skip
Split = Annotated[str, typer.Option(
    show_default="train", help="What the rows are: train, dev or test; gsm8k has no dev, wordmath has familiar too. "
    "Must be given where the file's name says another split than train.")]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """What `lumos convert` was asked."""

    source: str
    data: Path | None
    split: str
    limit: int
    deterministic: bool
    teacher: str
    subgoals: str
    reasks: int
    seed: int
    temperature: float
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


def convert(
    source: Source, data: opt.Data = None, split: Split = "", limit: opt.Limit = 0,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="By rule, without a model.")] = False,
    teacher: Annotated[str, typer.Option(
        help="Who is asked: chat://HOST:PORT?model=NAME, chats:// (TLS), or any other endpoint.")] = "",
    subgoals: Annotated[str, typer.Option(help="What the teacher is shown: high or low, one action each.")] = "high",
    reasks: Annotated[int, typer.Option(min=0, max=10, help="Further calls for a row that is rejected.")] = 1,
    vision: Annotated[str, typer.Option(
        show_default="image", help="What the teacher is shown of a row's image: image, caption or none.")] = "",
    seed: opt.Seed = 0, temperature: opt.Temperature = 0.0,
    max_tokens: Annotated[int, typer.Option(min=1, max=opt.MOST, help="Tokens of one reply.")] = 800,
    price_prompt: Annotated[float, typer.Option(min=0.0, help="USD for a million tokens of prompts.")] = 0.0,
    price_completion: Annotated[float, typer.Option(min=0.0, help="USD for a million tokens of replies.")] = 0.0,
    budget: Annotated[float, typer.Option(
        min=0.0, help="USD after which the job is paused; what is then in flight is paid too. 0: none.")] = 0.0,
    perturbations: Annotated[int, typer.Option(
        min=0, max=20, help="Changes of the numbers under which a row must hold; 0: not checked.")] = 3,
    longest: Annotated[int, typer.Option(
        min=1, max=opt.MOST, help="Tokens of a training conversation; a longer one is rejected as 'overlong'.")] = 1024,
    tokenizer: Annotated[Path | None, typer.Option(help="Folder of the tokenizer that counts them.")] = None,
    skip_bad_rows: opt.SkipBad = False, option: opt.RowOptions = [],
    again: opt.Again = False, follow: opt.Follow = False,
    priority: opt.Priority = 0, json: opt.Json = False,
) -> None:  # fmt: skip
    """Turn gold rationales into annotated episodes, run and judged."""
    from lumos_queue.cli.run import submit_and_run
    from lumos_queue.cli.submitting import finish
    from lumos_queue.settings import read_settings

    settings = read_settings()
    options = Options(
        source, data, split, limit, deterministic, teacher, subgoals, reasks, seed, temperature, max_tokens,
        price_prompt, price_completion, budget, perturbations, longest, tokenizer, skip_bad_rows, option,
        vision,
    )  # fmt: skip
    job, rows = conversion(options, settings)
    follow = follow or not settings.broker_url
    identifier, code = submit_and_run(settings, job, rows, priority=priority, again=again, follow=follow)
    finish(settings, identifier, code, follow)


def conversion(options: Options, settings: Settings) -> tuple[Convert, Rows]:
    """The job and its rows. Raises SpecError for what cannot be done; embedded, the teacher is asked who it is."""
    from lumos_queue.benchmarks.base import Benchmark
    from lumos_queue.benchmarks.sources import open_source
    from lumos_queue.conversion.demos import demos_for
    from lumos_queue.conversion.duplicates import find_duplicates
    from lumos_queue.endpoints.base import Sampling
    from lumos_queue.errors import SpecError
    from lumos_queue.jobs.convert import TEACHING, Convert
    from lumos_queue.readers.splits import split_of
    from lumos_queue.submission.agents import address, identify, pairs
    from lumos_queue.submission.store import read_rows
    from lumos_queue.submission.teacher_vision import check_sight, vision_of

    source = open_source(options.source)
    if options.deterministic == bool(options.teacher):
        raise SpecError("Who converts? Give either --teacher URL, or --deterministic for conversion by rule.")
    split = split_of(options.data, options.split, source.splits)
    if options.budget and not (options.teacher and (options.price_prompt or options.price_completion)):
        raise SpecError("--budget needs a --teacher and what it costs: --price-prompt and --price-completion.")
    numbers = (options.temperature, options.price_prompt, options.price_completion, options.budget)
    if not all(map(math.isfinite, numbers)):
        raise SpecError("--temperature, prices and --budget must be finite numbers.")
    if options.tokenizer and not options.tokenizer.is_dir():
        raise SpecError(f"--tokenizer '{options.tokenizer}' is no folder.")
    teacher = ""
    if options.teacher:
        demos_for(source.prompt, options.subgoals)
        teacher = address(options.teacher, bool(settings.broker_url))
    chosen = pairs("--option", options.options)
    vision = vision_of(source, teacher, options.vision)
    rows = read_rows(cast(Benchmark, source), options.data, split, options.skip_bad_rows, chosen)
    for note in rows.benchmark.notes:
        output.say(note)
    if teacher and not settings.broker_url:
        asyncio.run(identify({teacher}, settings))
    check_sight(vision, teacher, rows, settings)
    job = Convert(
        options.source, rows.digest, split, options.limit, teacher, options.subgoals, options.reasks,
        Sampling(options.temperature, 1.0, options.max_tokens, TEACHING.stop), options.price_prompt,
        options.price_completion, options.budget, options.seed, options.perturbations, options.longest,
        str(options.tokenizer.resolve()) if options.tokenizer else "",
        find_duplicates(rows.tasks[: options.limit or None]),
        vision=vision,
    )  # fmt: skip
    return job, rows


def budget(
    job: opt.JobId,
    usd: Annotated[float, typer.Argument(metavar="USD", min=0.0, help="What it may cost in all; 0: no limit.")],
    json: opt.Json = False,
) -> None:
    """Change what a conversion may cost. Go on with it by: lumos resume JOB."""
    from db.budget import set_budget
    from db.jobs import get_job
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    if not math.isfinite(usd):
        raise SpecError("A budget must be a finite number.")
    with database(read_settings()) as opened:
        with opened.engine.connect() as connection:
            row = get_job(connection, job)
        set_budget(opened, row.id, usd)
    output.result({"job": row.id, "budget": usd}, lambda _: output.show(f"job {row.id} may cost {usd:g} USD"))
