"""Commands that continue stored episodes: rollouts, blame, reground."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.continuation import (
    BlameRequest,
    ContinuationRequest,
    RegroundRequest,
    RolloutsRequest,
)
from lumos_queue.submission.submit_options import SubmitOptions

if TYPE_CHECKING:
    from lumos_queue.builds.licences import FilteredRows
    from lumos_queue.rollouts.derivation import Make

Threshold = Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of the rollouts that must be right.")]
Pairs = Annotated[Path | None, typer.Option(help="New file for preference pairs of the module at fault (JSON lines).")]
Labels = Annotated[Path | None, typer.Option(help="New file for stepwise labels of the module at fault.")]

AllowTest = Annotated[bool, typer.Option("--allow-test", help="Also write rows of test splits.")]


@takes_request(RolloutsRequest)
@takes_submit_options
def rollouts(
    request: RolloutsRequest,
    context: typer.Context,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Continue stored episodes from their first subgoals.

    Submits an evaluation in which these subgoals are given and the models continue.
    """
    if context.invoked_subcommand:
        return
    from lumos_queue.errors import unknown
    from lumos_queue.rollouts.stepwise import prefixes

    if request.at not in ("each", "last"):
        raise unknown("place to continue from", request.at, ("each", "last"))
    _submit(
        request,
        prefixes(request.at, request.unsettled),
        options,
        follow,
        "lumos rollouts report {}",
    )


def rollouts_report(
    job: opt.JobId,
    threshold: Threshold = 0.5,
    out: Annotated[Path | None, typer.Option(help="New file for stepwise labels (JSON lines, TRL's columns).")] = None,
    allow_test: AllowTest = False,
    json: opt.Json = False,
) -> None:
    """Show which subgoals were right.

    A subgoal is judged by the gold values, else by the results of the rollouts that start from it.
    """
    from lumos_queue.builds.lines import new_lines
    from lumos_queue.deployment.database import database
    from lumos_queue.pages.sections.faults import subgoal_labels
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.rollouts.report import report_rollouts
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, new_lines(out) as write:
        report = report_rollouts(job_database, job, threshold, write, allow_test)
    _warn(report.filtered)
    output.result(as_json(report), lambda _: output.print_page(*subgoal_labels(report)))


@takes_request(BlameRequest)
@takes_submit_options
def blame(
    request: BlameRequest,
    context: typer.Context,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Find the module at fault in failed episodes.

    Submits two evaluations of these episodes: one with a gold planner, one with a gold grounder.

    Give the models that ran the episodes: if a prompt is the same, its recorded reply is used again.
    """
    if context.invoked_subcommand:
        return
    from lumos_queue.rollouts.blame import replacements

    _submit(request, replacements, options, follow, "lumos blame report {} {}")


def blame_report(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB JOB", help="The two jobs, in either order.")],
    threshold: Threshold = 0.5,
    pairs: Pairs = None,
    labels: Labels = None,
    allow_test: AllowTest = False,
    json: opt.Json = False,
) -> None:
    """Show which module is at fault in each episode.

    The answer is planner, grounder, both or neither, for each failed episode of the two jobs.
    """
    from lumos_queue.builds.lines import new_lines
    from lumos_queue.deployment.database import database
    from lumos_queue.pages.sections.faults import module_faults
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.rollouts.blame_report import report_blame
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, new_lines(pairs) as write_pair, new_lines(labels) as write_labels:
        report = report_blame(job_database, jobs, threshold, write_pair, write_labels, allow_test)
    _warn(report.filtered)
    output.result(as_json(report), lambda _: output.print_page(*module_faults(report)))


@takes_request(RegroundRequest)
@takes_submit_options
def reground(
    request: RegroundRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Ground the stored plans of episodes again.

    Submits an evaluation with the stored subgoals, new actions by the grounder, and their results.
    """
    from lumos_queue.rollouts.derivation import regroundings

    _submit(request, regroundings, options, follow, "lumos report {}")


def _submit(
    request: ContinuationRequest,
    make: Make,
    options: SubmitOptions,
    follow: bool,
    read_command: str,
) -> None:
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.cli.derived_jobs import choose_episodes, submit_derived

    deployment = open_deployment()
    follow = follow or not deployment.broker
    derivation = choose_episodes(deployment.database, request, make)
    selection, jobs, code = submit_derived(deployment, request, derivation, options, follow)
    names = list(jobs.values())

    def print_submitted(summary: dict[str, Any]) -> None:
        for reason, count in summary["left_out"].items():
            output.show(f"left out: {count} episodes ({reason})")
        output.show(
            f"{summary['episodes']} episodes are continued. Read the result with: {read_command.format(*names)}"
        )

    output.result(selection | {"jobs": names}, print_submitted)
    raise typer.Exit(code)


def _warn(filtered: FilteredRows) -> None:
    """Print warnings about the written files on standard error."""
    if filtered.of_test_split:
        output.say(f"{filtered.of_test_split} rows are of a test split and were not written (--allow-test writes them)")
    if filtered.warning:
        output.say(filtered.warning)
