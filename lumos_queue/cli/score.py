"""Scoring stored episodes again: score."""

from __future__ import annotations

import time
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
    ],
    json: opt.Json = False,
) -> None:
    """Add scores to the stored episodes of a job.

    Nothing is run again. Episodes that have the scores already are left as they are.
    """
    from dataclasses import asdict

    from lumos_queue.review.scoring import score_job
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database
    from lumos_queue.util.plugins import TRUSTED

    settings = read_settings()
    TRUSTED.add_named(scorer)
    told_at = time.monotonic()

    def tell(seen: int) -> None:
        nonlocal told_at
        if time.monotonic() - told_at >= LINE_SECONDS:
            told_at = time.monotonic()
            output.say(f"{seen:,} episodes scored")

    with database(settings) as opened:
        found = score_job(opened, settings, job, scorer, tell)

    def show(value: dict) -> None:
        metrics = ", ".join(value["metrics"])
        output.show(
            f"job {value['job']}: {value['episodes']:,} episodes scored by {metrics}, version {value['version']}"
        )
        if value["without"]:
            output.show(f"it does not apply to {value['without']:,} others")

    output.result(asdict(found), show)
