"""Commands that show stored jobs and episodes: jobs, job, report, show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli import report_files as files
from lumos_queue.cli.deployment import open_deployment
from lumos_queue.cli.exit_codes import Exit
from lumos_queue.submission.requests.option import MAX_INTEGER
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.pages.material import Material


def show_reports(deployment: Deployment, jobs: list[str], by: Sequence[str] = (), whole: bool = False) -> Exit:
    """Print the reports of jobs, with scores by fields `by`; `whole`: with all sections.

    Return INCOMPLETE if a job ended incomplete, else FINE.
    """
    from db.queries.jobs import get_job
    from lumos_queue.reports.completeness import remark
    from lumos_queue.reports.json_values import as_json

    with import_libraries():
        from lumos_queue.pages.material import Material, read_material, read_overview, read_reports
    with deployment.database.engine.connect() as connection:
        rows = [get_job(connection, job) for job in jobs]
        if output.as_json:
            material = Material(read_reports(connection, rows, deployment.lease, by))
        else:
            material = (read_material if whole else read_overview)(connection, rows, deployment.lease, by=by)
    reports = [
        as_json(replace(job.report, name=job.row.name, differs=job.called.differences, real_state=job.state))
        for job in material.jobs
    ]
    output.result(
        reports[0] if len(reports) == 1 else {"reports": reports},
        lambda _: _print(material, whole),
    )
    return Exit.INCOMPLETE if any(remark(job.report.result) for job in material.jobs) else Exit.FINE


def _print(material: Material, whole: bool) -> None:
    """Print the overview of jobs, and all sections if `whole`."""
    from lumos_queue.pages.limits import LEVELS
    from lumos_queue.pages.terminal import print_blocks, print_sections

    with import_libraries():
        from lumos_queue.pages.sections.overview import overview
    console = output.console()
    print_blocks(console, list(overview(material)))
    if whole:
        with import_libraries():
            from lumos_queue.pages.compose import list_sections
        print_sections(console, list_sections(material, LEVELS[0]))
        return
    names = " ".join(job.id for job in material.jobs)
    output.say(f"all sections: lumos report {names} --all")
    output.say(f"a page with charts: lumos report {names} --html FILE")


def jobs(
    limit: Annotated[int, typer.Option(min=1, max=MAX_INTEGER, help="The number of jobs.")] = 20,
    where: opt.JobWhere = "",
    before: Annotated[str, typer.Option(metavar="JOB", help="Only jobs submitted before this one.")] = "",
    json: opt.Json = False,
) -> None:
    """List the newest jobs.

    Shows the request of each job, its score so far, and its state.
    """
    from db.queue.sessions import live_sessions, traffic_of
    from lumos_queue.cli.job_list import print_jobs, print_traffic
    from lumos_queue.reports.job_list import list_jobs
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.submission.filters import read_job_where
    from lumos_queue.util.sanitize import storable

    deployment = open_deployment()
    condition = read_job_where(deployment.database, where)
    with deployment.database.engine.connect() as connection:
        matches, has_more = list_jobs(connection, condition, limit, deployment.lease, storable(before)[0])
        traffic = traffic_of(live_sessions(connection, deployment.lease))
    if output.as_json:
        endpoints = [{"url": url, **use._asdict()} for url, use in traffic.items()]
        output.emit({"jobs": [as_json(row) for row in matches], "more": has_more, "endpoints": endpoints})
    else:
        print_jobs(matches, has_more, str(condition))
        print_traffic(traffic)


def job(job: opt.JobId, json: opt.Json = False) -> None:
    """Show a job's name, settings, state and endpoints."""
    from db.queries.job_endpoints import endpoints_of
    from db.queries.jobs import get_job, problems
    from db.queue.figures import code_versions, progress
    from db.queue.tags import tags_of
    from lumos_queue.cli.job_tables import SETTINGS, print_job
    from lumos_queue.reports.real_state import real_states

    names = (
        *SETTINGS,
        "main_metric",
        "plugins",
        "priority",
        "concurrency",
        "seed",
        "created_at",
        "started_at",
        "finished_at",
        "spec",
    )
    deployment = open_deployment()
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, job)
        real_state = real_states(connection, [row], deployment.lease)[row.id]
        summary = (
            {"job": row.id}
            | {name: getattr(row, name) for name in names}
            | {
                "tags": tags_of(connection, [row.id]).get(row.id, {}),
                "real_state": str(real_state.state),
                "items": progress(connection, row.id),
                "code_versions": [
                    {"code_version": version, "episodes": episodes}
                    for version, episodes in code_versions(connection, row.id)
                ],
                "problems": [{"problem": text, "items": count} for text, count in problems(connection, row.id)],
                "endpoints": [
                    {
                        "role": endpoint.role,
                        "url": endpoint.url,
                        "identity": endpoint.identity,
                        "seen_at": endpoint.seen_at,
                    }
                    for endpoint in endpoints_of(connection, row.id)
                ],
            }
        )
    output.result(summary, print_job)


def report(
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB]...", help="One job, or several side by side.")
    ] = None,
    where: opt.JobWhere = "",
    by: opt.By = [],
    whole: Annotated[bool, typer.Option("--all", help="Print all sections, as --html writes them.")] = False,
    html: files.Html = None,
    md: files.Markdown = None,
    price_prompt: files.PricePrompt = None,
    price_completion: files.PriceCompletion = None,
    json: opt.Json = False,
) -> None:
    """Show the reports of jobs, or write them to a file.

    Shows scores with intervals, baselines, endings, calls, tokens and times. Exit code 3: a job ended incomplete.
    """
    from lumos_queue.errors import SpecError
    from lumos_queue.submission.job_selection import choose_jobs

    prices = files.prices_of(price_prompt, price_completion)
    deployment, names = open_deployment(), list(jobs or ())
    if where or not names:
        names = choose_jobs(deployment.database, deployment.lease, names, where)
    if not names:
        raise SpecError("No job is chosen: name one, lumos report JOB, or give --where. List them with: lumos jobs")
    if html is None and md is None:
        files.require_no_prices(prices)
        raise typer.Exit(show_reports(deployment, names, by, whole))
    raise typer.Exit(files.write_reports(deployment.settings, names, html, md, prices, by))


def show(
    episode: Annotated[str, typer.Argument(metavar="EPISODE", help="JOB-NUMBER, for example k3f9a2cd-17.")],
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also print the request and the reasoning of every model call.")
    ] = False,
    state: Annotated[
        bool, typer.Option("--state", help="Also print the router's state before each decision (sum2act).")
    ] = False,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write the pictures of the task and the steps there.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Show one episode step by step.

    Shows subgoals, actions and results, then the verdicts of filters and the labels by people. Texts of more than
    20,000 characters are shortened in the table; --json has them whole, with the request of each model call.
    """
    from db.queries.episode_names import split_name
    from db.queries.jobs import get_job
    from db.queries.trajectory import get_trajectory
    from lumos_queue.cli.pictures import save_pictures
    from lumos_queue.cli.trajectory import print_trajectory
    from lumos_queue.deployment.database import database
    from lumos_queue.reports.episode_details import EpisodeDetails, describe_state
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.reports.pictures import list_pictures
    from lumos_queue.reports.trajectory import describe_labels, describe_trajectory
    from lumos_queue.settings import read_settings
    from lumos_queue.util.launch_folder import from_launch

    name, number = split_name(episode)
    with database(read_settings()) as job_database, job_database.engine.connect() as connection:
        trajectory = get_trajectory(connection, get_job(connection, name), number)
        pictures = list_pictures(connection, trajectory, shown_to_models=save is not None)
        saved_files = None if save is None else save_pictures(connection, pictures, from_launch(save))
        report = describe_trajectory(trajectory)
        if prompts or output.as_json:
            from lumos_queue.review.sent_requests import add_requests

            report = add_requests(connection, trajectory, report)
    states = None
    if state:
        from lumos_queue.formulations.base import version_of
        from lumos_queue.review.task_states import read_stateful_agent, rebuild_states

        agent, state_keeping = read_stateful_agent(trajectory.job.kind, trajectory.job.spec)
        version = version_of(trajectory.job.spec)
        rebuilt = rebuild_states(state_keeping, trajectory.task, agent, trajectory.steps, version)
        states = [describe_state(position, task_state) for position, task_state in rebuilt]
    details = EpisodeDetails(report, describe_labels(trajectory), pictures or None, saved_files, states)
    output.result(as_json(details), lambda _: print_trajectory(details, prompts))
