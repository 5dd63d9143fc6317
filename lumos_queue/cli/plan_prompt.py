"""Ask the person who waits for a job to approve each plan. Another person may answer it elsewhere meanwhile."""

from __future__ import annotations

import select
import sys
import termios
import threading

from db.engine.connection import Database
from db.queue.approval_waits import describe_awaiting
from db.review.approvals import WaitingPlan, answer, find_waiting
from lumos_queue.cli import output
from lumos_queue.cli.approvals import print_plan
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings

LOOK_SECONDS = 1.0  #: between two checks whether somebody else has answered
_YES, _NO = ("y", "yes"), ("n", "no")


def may_ask() -> bool:
    """Return whether there is a person at the terminal."""
    return not output.as_json and sys.stdin.isatty() and sys.stderr.isatty()


def ask_for_approval(database: Database, settings: Settings, job: str, stop: threading.Event) -> None:
    """Show each waiting plan of the job, and store the person's answers, until `stop`."""
    for plan in _load_plans(database, job):
        output.say("")
        print_plan(output.console(stderr=True), plan)
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # keys typed before the plan was shown must not approve it
        reply = _read("Approve this plan? [y/n]", database, plan, stop, (*_YES, *_NO))
        note = _read("What should be changed?", database, plan, stop) if reply in _NO else ""
        if reply is None or note is None:
            if stop.is_set():
                return
            output.say(f"the plan of {plan.name} was answered elsewhere")
            continue
        try:
            answer(database, plan, reply in _YES, note, settings.user)
        except SpecError as error:
            output.say(str(error))


def print_how_to_approve(database: Database, settings: Settings, job: str) -> None:
    """Print how many plans wait, and how to answer them and continue."""
    output.say(f"job {job}: {describe_awaiting(len(_load_plans(database, job)), job)} (--list shows what waits)")
    if not settings.broker_url:
        output.say(f"nothing is lost. Once it is answered, continue with: lumos resume {job}")


def _load_plans(database: Database, job: str) -> list[WaitingPlan]:
    with database.engine.connect() as connection:
        return find_waiting(connection, job)


def _read(
    question: str, database: Database, plan: WaitingPlan, stop: threading.Event, choices: tuple[str, ...] = ()
) -> str | None:
    """Return the line that the person types. With `choices`, ask again until it is one of them.

    Return None at `stop`, and when the plan has been answered elsewhere.
    """
    while True:
        output.ask(question)
        while not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
            if stop.is_set() or plan not in _load_plans(database, plan.job):
                output.say("")
                return None
        line = sys.stdin.readline()
        if not line:  # the terminal was closed
            stop.set()
            return None
        reply = line.strip()
        if not choices or reply.lower() in choices:
            return reply.lower() if choices else reply
