"""The command that scores stored episodes again: score."""

from __future__ import annotations

import time

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.judging import GradingRequest
from lumos_queue.submission.submit_options import SubmitOptions

LINE_SECONDS = 5.0  #: between two lines of progress


@takes_request(GradingRequest)
@takes_submit_options
def score(
    request: GradingRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Add scores to the stored episodes of a job.

    The models of the episodes are not called again, and existing scores are kept. With --judge, a model grades the
    answers: the command submits an evaluation whose items are the stored episodes, and prints its report.
    """
    from lumos_queue.cli.judged_answers import judge_answers
    from lumos_queue.submission.judging_request import check_grading

    judge_options = check_grading(request)
    if not request.judge:
        _add_scores(request.job, request.scorer)
        return
    judge_answers(request, judge_options, options, follow)


def _add_scores(job: str, scorer: str) -> None:
    from dataclasses import asdict

    from lumos_queue.deployment.database import database
    from lumos_queue.review.scoring import score_job
    from lumos_queue.settings import read_settings
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
