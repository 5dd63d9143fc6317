"""Commands: convert, and budget (change the budget of a job)."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli import own_file as own
from lumos_queue.jobs.scheduling import Scheduling

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.settings import Settings
    from lumos_queue.submission.conversion_request import ConversionOptions
    from lumos_queue.submission.file_options import FileOptions

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE|FILE",
        help="gsm8k, svamp, mawps, asdiv, wordmath, strategyqa, musique, hotpotqa, mind2web, spider, prm800k, aokvqa, "
        "webshop, rewoo, openagi; a benchmark of a plug-in (lumos plugins); a module's object, e.g. "
        "mylab.tasks:benchmark; or your own file (docs/own_data.md).",
    ),
]
Split = Annotated[
    str,
    typer.Option(
        show_default="train",
        help="The split of the rows: train, dev or test; gsm8k has no dev, wordmath also has familiar, openagi has "
        "labelled. Your own file has the split own, its default. "
        "Required if the file's name contains another split than train.",
    ),
]


def convert(
    source: Source = "",
    data: opt.Data = None,
    split: Split = "",
    limit: opt.Limit = 0,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Convert by rule, without a model.")] = False,
    teacher: Annotated[
        str, typer.Option(help="Endpoint of the teacher: chat://HOST:PORT?model=NAME, chats:// (TLS), or any other.")
    ] = "",
    subgoals: Annotated[str, typer.Option(help="Level of the subgoals: high, or low (one action each).")] = "high",
    reasks: Annotated[int, typer.Option(min=0, max=10, help="Further calls of the teacher for a rejected row.")] = 1,
    question: own.Question = "",
    answer: own.Answer = [],
    id: own.Id = "",
    choices: own.Choices = "",
    images: own.Images = "",
    rationale: own.Rationale = "",
    scorer: own.Scorer = "",
    domain: own.Domain = "",
    licence: own.Licence = "",
    title: own.Title = "",
    vision: Annotated[
        str,
        typer.Option(show_default="image", help="The form of a row's image for the teacher: image, caption or none."),
    ] = "",
    seed: opt.Seed = 0,
    samples: Annotated[
        int,
        typer.Option(
            min=1,
            max=1000,
            help="Samples of the teacher for each row, at most. The first that passes all checks is stored. If two "
            "agree, no further sample is drawn, and the row is noted.",
        ),
    ] = 1,
    temperature: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Sampling temperature; 0: greedy. Default: 0.7 with --samples of 2 or more, else 0."
        ),
    ] = None,
    max_tokens: Annotated[int, typer.Option(min=1, max=opt.MAX_INTEGER, help="Maximum tokens of one reply.")] = 800,
    price_prompt: opt.PricePrompt = 0.0,
    price_completion: opt.PriceCompletion = 0.0,
    budget: opt.Budget = 0.0,
    perturbations: Annotated[
        int, typer.Option(min=0, max=20, help="How often a row is checked with changed numbers; 0: not checked.")
    ] = 3,
    longest: Annotated[
        int,
        typer.Option(
            min=1,
            max=opt.MAX_INTEGER,
            help="Maximum tokens of a training conversation; longer ones are rejected as 'overlong'.",
        ),
    ] = 1024,
    tokenizer: Annotated[Path | None, typer.Option(help="Folder of the tokenizer that counts these tokens.")] = None,
    skip_bad_rows: opt.SkipBad = False,
    option: opt.RowOptions = [],
    published: opt.Published = False,
    waiting: Annotated[
        str,
        typer.Option(
            metavar="JOB",
            help="Send the waiting rows of that conversion by rule to the teacher, with their drafts and the reasons. "
            "The rows are stored, so no file is needed; SOURCE may be left out.",
        ),
    ] = "",
    recheck: Annotated[
        str,
        typer.Option(
            metavar="JOB",
            help="List the accepted episodes of a conversion by rule that the present rules would reject or write "
            "differently. Nothing is changed.",
        ),
    ] = "",
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Turn gold rationales into annotated episodes.

    Their actions are run, and each annotation is checked.
    """
    if recheck:
        if waiting or teacher or data or limit or deterministic:
            from lumos_queue.errors import SpecError

            raise SpecError("--recheck JOB compares stored episodes: give it alone.")
        _recheck(recheck, source)
        return
    from lumos_queue.cli.data_offer import with_data
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.conversion_request import ConversionOptions, make_conversion_job
    from lumos_queue.submission.file_options import FileOptions
    from lumos_queue.submission.file_request import resolve_file
    from lumos_queue.submission.tags import read_name_and_tags

    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
    scheduling = Scheduling(priority, concurrency)
    file_options = FileOptions(question, answer, id, choices, images, rationale, scorer, domain, licence, title)
    options = ConversionOptions(
        source=source,
        data=data,
        split=split,
        limit=limit,
        deterministic=deterministic,
        teacher=teacher,
        subgoals=subgoals,
        reasks=reasks,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        price_prompt=price_prompt,
        price_completion=price_completion,
        budget=budget,
        perturbations=perturbations,
        longest=longest,
        tokenizer=tokenizer,
        skip_bad_rows=skip_bad_rows,
        options=option,
        vision=vision,
        published=published,
        samples=samples,
    )
    if waiting:
        _convert_waiting(settings, waiting, options, file_options, name_and_tags, scheduling, again, follow)
        return
    if not source:
        raise SpecError("Name a source or a file, e.g. gsm8k, or give --recheck JOB or --waiting JOB.")
    file = resolve_file(source, data, split, file_options, option, output.say, kind="convert")
    options = replace(options, source=file.benchmark, data=file.data, split=file.split, definition=file.definition)
    job, rows = with_data(settings, lambda: make_conversion_job(options, settings, output.say))
    submit_and_finish(
        settings,
        job,
        rows,
        name_and_tags=name_and_tags,
        scheduling=scheduling,
        again=again,
        follow=follow,
    )


def _convert_waiting(
    settings: Settings,
    job: str,
    options: ConversionOptions,
    file_options: FileOptions,
    name_and_tags: NameAndTags,
    scheduling: Scheduling,
    again: bool,
    follow: bool,
) -> None:
    """Send the waiting rows of a job to the teacher, and print the report of that job. Raises SpecError."""
    from lumos_queue.cli.job_repeats import store_and_run
    from lumos_queue.submission.rerun import Repeat
    from lumos_queue.submission.waiting_request import check_stored_rows, make_waiting_job

    check_stored_rows(job, options, file_options)

    def make(database: Any, row: Any) -> Repeat:
        return make_waiting_job(database, settings, row, options, scheduling, output.say)

    store_and_run(settings, job, make, name_and_tags, again, follow)


def _recheck(job: str, source: str) -> None:
    """Print which accepted episodes of a job the present rules would reject or write differently."""
    from db.jobs import get_job
    from lumos_queue.cli.recheck_tables import print_recheck
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database
    from lumos_queue.submission.recheck import recheck_conversion

    if source:
        raise SpecError(f"--recheck takes the rows of job {job}: leave out '{source}'.")
    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, job)
        report = recheck_conversion(job_database, row)
    output.result(report, lambda value: print_recheck(output.console(), value))


def budget(
    job: opt.JobId,
    usd: Annotated[float, typer.Argument(metavar="USD", min=0.0, help="The new budget in total; 0: no limit.")],
    json: opt.Json = False,
) -> None:
    """Change the budget of a job that was submitted with prices.

    Continue a paused job with: lumos resume JOB
    """
    from db.budget import set_budget
    from db.jobs import get_job
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    if not math.isfinite(usd):
        raise SpecError("The budget must be a finite number.")
    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, job)
        set_budget(job_database, row.id, usd)
    output.result({"job": row.id, "budget": usd}, lambda _: output.show(f"the budget of job {row.id} is {usd:g} USD"))
