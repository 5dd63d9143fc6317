"""The command `lumos approve`, by which a person approves or refuses plans that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

if TYPE_CHECKING:
    from db.engine.connection import Database
    from db.review.approvals import WaitingPlan
    from lumos_queue.settings import Settings


def approve(
    target: Annotated[
        str, typer.Argument(metavar="JOB|EPISODE", help="All waiting plans of a job, or the plan of an episode.")
    ] = "",
    no: Annotated[
        bool, typer.Option("--no", help="Refuse the plan: the planner is asked again, with the note.")
    ] = False,
    note: Annotated[str, typer.Option(help="With --no: the change that the planner should make.")] = "",
    list_: Annotated[bool, typer.Option("--list", help="Only show the plans that wait.")] = False,
    who: Annotated[str, typer.Option("--as", help="The person who answers; default: LUMOS_USER, or user@host.")] = "",
    json: opt.Json = False,
) -> None:
    """Approve a plan that waits for a person, or refuse it.

    Workers then continue the episode. Without workers, continue with: lumos resume JOB
    """
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    settings = read_settings()
    who = who or settings.user
    _check_options(target, no, note, list_, who)
    with database(settings) as job_database:
        if list_:
            plans = find_plans(job_database, target) if target else _all_plans(job_database)
            output.result({"waiting": [plan_as_json(plan) for plan in plans]}, lambda _: _print_plans(plans))
            return
        plans = find_plans(job_database, target)
        if not plans:
            raise SpecError(_say_why_not(job_database, target))
        answered_plans = _answer_all(job_database, plans, not no, note, who)
        _bring_workers(job_database, settings, sorted({plan.job for plan in answered_plans}))
    word = "refuses" if no else "approves"
    output.result(
        {"answer": "no" if no else "yes", "who": who, "note": note, "episodes": [plan.name for plan in answered_plans]},
        lambda report: output.show("\n".join(f"{who} {word} the plan of {name}" for name in report["episodes"])),
    )


def _check_options(target: str, no: bool, note: str, list_: bool, who: str) -> None:
    """Raise SpecError for options that contradict each other."""
    from db.review.approvals import check_answer
    from lumos_queue.errors import SpecError

    if list_ and (no or note):
        raise SpecError("--list only shows the plans, and answers nothing: leave out --no and --note.")
    if not (target or list_):
        raise SpecError("Name a JOB or an EPISODE to approve. List the plans that wait with: lumos approve --list")
    if note and not no:
        raise SpecError("--note is for a refused plan, which the planner then rewrites: add --no, or leave out --note.")
    check_answer(note, who)


def find_plans(database: Database, target: str) -> list[WaitingPlan]:
    """Return the waiting plans of a job, or of one episode (JOB-NUMBER). Raises SpecError for an unknown name."""
    from db.queries.episode_names import split_name
    from db.queries.jobs import get_job
    from db.review.approvals import find_waiting

    job, number = split_name(target) if "-" in target else (target, None)
    with database.engine.connect() as connection:
        return find_waiting(connection, get_job(connection, job).id, number)


def plan_as_json(plan: WaitingPlan) -> dict[str, Any]:
    names = ("question", "shown", "asked_at", "tries")
    return {"episode": plan.name} | {name: getattr(plan, name) for name in names}


def print_plan(console: Any, plan: WaitingPlan) -> None:
    """Print a plan after the question of its task."""
    attempt = f" (plan {plan.tries})" if plan.tries > 1 else ""
    console.print(f"[bold]{plan.name}[/]{attempt}  {output.escape(plan.question)}")
    console.print(output.escape(plan.shown), soft_wrap=True)


def _print_plans(plans: list[WaitingPlan]) -> None:
    console = output.console()
    for plan in plans:
        print_plan(console, plan)
        console.print(f"approve it: lumos approve {plan.name}", style="dim", soft_wrap=True)
        console.print(
            f"refuse it:  lumos approve {plan.name} --no --note 'what to change'\n", style="dim", soft_wrap=True
        )
    if not plans:
        console.print("No plan waits for approval.")


def _all_plans(database: Database) -> list[WaitingPlan]:
    from db.review.approvals import find_waiting

    with database.engine.connect() as connection:
        return find_waiting(connection)


def _answer_all(database: Database, plans: list[WaitingPlan], yes: bool, note: str, who: str) -> list[WaitingPlan]:
    """Store an answer to each plan, and return the plans whose answer was stored.

    Print a remark about each plan that cannot be answered any more. Raises SpecError if that is all of them.
    """
    from db.review.approvals import answer
    from lumos_queue.errors import SpecError

    answered_plans: list[WaitingPlan] = []
    late: list[SpecError] = []
    for plan in plans:
        try:
            answer(database, plan, yes, note, who)
            answered_plans.append(plan)
        except SpecError as error:
            late.append(error)
    if not answered_plans:
        raise late[0]
    for error in late:
        output.say(str(error))
    return answered_plans


def _say_why_not(database: Database, target: str) -> str:
    """Return the reason why no plan of the job or the episode waits."""
    from db.queries.episode_names import split_name
    from db.queries.jobs import get_job
    from db.queries.trajectory import get_trajectory
    from db.review.approvals import describe_answer, latest_answer

    with database.engine.connect() as connection:
        if "-" not in target:
            job = get_job(connection, target)
            return (
                f"No plan of job {job.id} waits for approval: it is {job.state}. "
                "List the plans that wait with: lumos approve --list"
            )
        name, number = split_name(target)
        trajectory = get_trajectory(connection, get_job(connection, name), number)
        answer = latest_answer(connection, trajectory.item.id)
    name = f"{trajectory.job.id}-{number}"
    remark = f"{describe_answer(name, answer)}. " if answer else ""
    state = (
        f"it has ended ({trajectory.episode.ending})"
        if trajectory.episode.ending
        else f"its item is {trajectory.item.state}"
    )
    return f"{remark}No plan of {name} waits for approval: {state}."


def _bring_workers(database: Database, settings: Settings, jobs: list[str]) -> None:
    """Notify the workers. Where there are none, print how to continue."""
    from db.engine.lease import Lease
    from db.kinds.states import JobState
    from db.queries.jobs import get_job
    from db.queue.sessions import live_sessions

    with database.engine.connect() as connection:
        rows = [get_job(connection, job) for job in jobs]
        is_unattended = not settings.broker_url and not live_sessions(connection, Lease(settings.lease_seconds))
    for row in rows:
        if row.state == JobState.PAUSED:
            output.say(f"job {row.id} is paused. Continue with: lumos resume {row.id}")
        elif is_unattended:
            output.say(f"no worker is alive. Continue with: lumos resume {row.id}")
        elif settings.broker_url:
            from workers.notify import notify_workers

            notify_workers(settings, row.kind, row.id, 1, row.pool)
