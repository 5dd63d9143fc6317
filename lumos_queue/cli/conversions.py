"""Commands: convert, and budget (change the budget of a job)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from db.kinds.job_kinds import JobKind
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.submit_options import SubmitOptions
from lumos_queue.util.wording import format_price

if TYPE_CHECKING:
    from lumos_queue.deployment.deployment import Deployment


@takes_request(ConversionRequest)
@takes_submit_options
def convert(
    request: ConversionRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Turn gold rationales into annotated episodes.

    Their actions are run, and each annotation is checked.
    """
    if request.recheck:
        _recheck(request)
        return
    from lumos_queue.cli.data_offer import with_data
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.errors import SpecError
    from lumos_queue.submission.conversion_request import make_conversion_job, read_file_fields
    from lumos_queue.submission.file_request import resolve_file

    deployment = open_deployment()
    if request.waiting:
        _convert_waiting(deployment, request, options, follow)
        return
    if not request.source:
        raise SpecError("Name a source or a file, e.g. gsm8k, or give --recheck JOB or --waiting JOB.")
    file_options = read_file_fields(request)
    file = resolve_file(
        request.source, request.data, request.split, file_options, request.options, output.say, kind=JobKind.CONVERT
    )
    job, rows = with_data(
        deployment.settings, lambda: make_conversion_job(request, file, deployment.settings, output.say)
    )
    submit_and_finish(deployment, job, rows, options, follow=follow)


def _convert_waiting(deployment: Deployment, request: ConversionRequest, options: SubmitOptions, follow: bool) -> None:
    """Send the waiting rows of a job to the teacher, and print the report of that job. Raises SpecError."""
    from lumos_queue.cli.job_repeats import store_and_run
    from lumos_queue.submission.rerun import Repeat
    from lumos_queue.submission.waiting_request import check_stored_rows, make_waiting_job

    check_stored_rows(request)

    def make(row: Any) -> Repeat:
        return make_waiting_job(deployment.database, deployment.settings, row, request, options.scheduling, output.say)

    store_and_run(deployment, request.waiting, make, options, follow)


def _recheck(request: ConversionRequest) -> None:
    """Print which accepted episodes of a job the present rules would reject or write differently."""
    from db.queries.jobs import get_job
    from lumos_queue.deployment.database import database
    from lumos_queue.pages.sections.recheck import recheck as recheck_blocks
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.recheck import check_recheck, recheck_conversion

    check_recheck(request)
    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, request.recheck)
        report = recheck_conversion(job_database, row)
    output.result(as_json(report), lambda _: output.print_page(*recheck_blocks(report)))


def budget(
    job: opt.JobId,
    usd: Annotated[float, typer.Argument(metavar="USD", min=0.0, help="The new budget in total; 0: no limit.")],
    json: opt.Json = False,
) -> None:
    """Change the budget of a job that was submitted with prices.

    Continue a paused job with: lumos resume JOB
    """
    from db.queries.jobs import get_job
    from db.queue.budget import set_budget
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    if not math.isfinite(usd):
        raise SpecError("The budget must be a finite number.")
    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, job)
        set_budget(job_database, row.id, usd)
    output.result(
        {"job": row.id, "budget": usd}, lambda _: output.show(f"the budget of job {row.id} is {format_price(usd)}")
    )
