"""Commands that submit a job: evaluate, infer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from db.kinds.job_kinds import JobKind
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.jobs import show_reports
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.submit_options import SubmitOptions

if TYPE_CHECKING:
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.jobs.base import Job
    from lumos_queue.submission.store import Rows


def submit_and_finish(
    deployment: Deployment,
    job: Job,
    rows: Rows | None,
    options: SubmitOptions,
    *,
    windows: int = 0,
    follow: bool,
) -> None:
    """Store a job, run or queue it, print its report or its id, and exit. Commands that submit a job end with this."""
    from lumos_queue.cli.run import submit_and_run

    follow = follow or not deployment.broker
    identifier, code = submit_and_run(deployment, job, rows, options, windows=windows, follow=follow)
    finish(deployment, identifier, code, follow)


def finish(deployment: Deployment, identifier: str, code: int, follow: bool) -> None:
    """Print the job's report, or its id alone if the command does not wait for the result, and exit."""
    if follow:
        report_code = show_reports(deployment, [identifier])
        code = code or report_code
    elif output.as_json:
        output.emit({"job": identifier})
    else:
        output.show(identifier)
    raise typer.Exit(code)


def _inference_command(kind: JobKind, help: str) -> Callable[..., None]:
    """Return the command for jobs of a kind, 'evaluate' or 'infer'. The two commands have the same options."""

    @takes_request(InferenceRequest)
    @takes_submit_options
    def command(
        request: InferenceRequest,
        *,
        options: SubmitOptions,
        follow: bool,
        json: opt.Json = False,
    ) -> None:
        from lumos_queue.cli.data_offer import with_data
        from lumos_queue.cli.deployment import open_deployment
        from lumos_queue.submission.job_request import make_inference_job
        from lumos_queue.submission.request_options import unescape_stops

        deployment = open_deployment()
        request = replace(request, stop=unescape_stops(request.stop))
        job, rows = with_data(deployment.settings, lambda: make_inference_job(kind, request, deployment, output.say))
        submit_and_finish(deployment, job, rows, options, follow=follow)

    command.__doc__ = help
    return command


evaluate = _inference_command(JobKind.EVALUATE, "Run an agent on a benchmark and score its answers.")
infer = _inference_command(JobKind.INFER, "Run an agent on a benchmark, unscored.")
