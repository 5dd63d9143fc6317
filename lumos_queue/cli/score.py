"""The command that scores stored episodes again: score."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

LINE_SECONDS = 5.0  #: between two lines of progress


def score(
    job: opt.JobId,
    scorer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="same_words, other_reader, numbers, one of a plug-in, or package.module:object (docs/plugins.md).",
        ),
    ] = "",
    judge: Annotated[
        str, typer.Option(metavar="URL", help="The endpoint of a model that grades the answers, in a separate job.")
    ] = "",
    rubric: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --judge: its prompt, a text with {answer}, and {question} and {gold} where they matter.",
        ),
    ] = None,
    grades: Annotated[
        int,
        typer.Option(metavar="2|5", show_default="2", help="With --judge: 2 for right or wrong, 5 for grades 1 to 5."),
    ] = 0,
    votes: Annotated[
        int,
        typer.Option(min=0, max=99, show_default="1", help="With --judge: votes on each answer, whose median counts."),
    ] = 0,
    seed: opt.Seed = 0,
    sampling: opt.Samplings = [],
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Add scores to the stored episodes of a job.

    The models of the episodes are not called again, and existing scores are kept. With --judge, a model grades the
    answers: the command submits an evaluation whose items are the stored episodes, and prints its report.
    """
    from lumos_queue.cli.judged_answers import judge_answers
    from lumos_queue.errors import SpecError
    from lumos_queue.jobs.scheduling import Scheduling
    from lumos_queue.submission.judge_options import JudgeOptions, read_rubric
    from lumos_queue.submission.tags import read_name_and_tags

    options = JudgeOptions(judge, read_rubric(rubric), grades, votes)
    if bool(scorer) == bool(judge):
        raise SpecError("Give either --scorer NAME, or --judge URL for a model that grades the answers.")
    if judge:
        scheduling = Scheduling(priority, concurrency)
        judge_answers(job, options, seed, sampling, read_name_and_tags(name, tag), scheduling, again, follow)
        return
    if options:
        raise SpecError(f"--{options.option_names[0]} is for --judge URL: leave it out.")
    _add_scores(job, scorer)


def _add_scores(job: str, scorer: str) -> None:
    from dataclasses import asdict

    from lumos_queue.review.scoring import score_job
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database
    from lumos_queue.util.plugins import TRUSTED

    settings = read_settings()
    TRUSTED.add_named(scorer)
    last_line = time.monotonic()

    def report_progress(count: int) -> None:
        nonlocal last_line
        if time.monotonic() - last_line >= LINE_SECONDS:
            last_line = time.monotonic()
            output.say(f"{count:,} episodes scored")

    with database(settings) as job_database:
        summary = score_job(job_database, settings, job, scorer, report_progress)

    def show(value: dict) -> None:
        metrics = ", ".join(value["metrics"])
        output.show(
            f"job {value['job']}: {value['episodes']:,} episodes scored by {metrics}, version {value['version']}"
        )
        if value["without"]:
            output.show(f"the scorer does not apply to {value['without']:,} further episodes")

    output.result(asdict(summary), show)
