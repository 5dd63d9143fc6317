"""Open-ended tasks with invented functions and recorded answers, scripted models for them, and workers that run them.

The planner's first list is refused by tests that refuse one: it asks for no weather. For control flow only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select

from db.engine.connection import Database
from db.models import Approval, EpisodeRow, Item
from db.queries.jobs import get_job
from db.review.approvals import WaitingPlan, find_waiting
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from tests.fake_endpoint import FakeEndpoint
from tests.integration.rollout_jobs import rows_of
from tests.stored_rows import read_stored_rows
from tests.tool_apis import LATEST, LATEST_NAME, OFFICES, record
from tests.tool_scripts import call, finish

FIRST = "Here is the list.\n1. Look the parcel up\n2. Tell where it is\nDone."
SECOND = "1. Look the parcel up\n2. Add the weather\n3. Tell where it is"
NOTE = "say what the weather is, too"


def task(number: int) -> Task:
    answers = [record(arguments={"parcelid": f"P{number}"}, response={"town": "Ombry"})]
    inputs = {"functions": [LATEST, OFFICES], "answers": answers}
    return Task("toolbench", "", str(number), f"Tell all of parcel P{number}.", inputs, {"relevant": []})


def reply(prompt: str) -> str | None:
    """Planner and policy in one."""
    if "You plan how" in prompt:
        return SECOND if NOTE in prompt else FIRST
    if not (requests := re.findall(r"Now do line \d+, and nothing else: (.*)", prompt)):
        return None
    number = re.findall(r"parcel P(\d+)", prompt)[0]
    if "Look" in requests[-1]:
        return (
            finish(f"P{number} is in Ombry.") if "Observation" in prompt else call(LATEST_NAME, parcelid=f"P{number}")
        )
    return finish("It rains.") if "weather" in requests[-1] else finish(f"P{number} is in Ombry, says the last line.")


def submit_tasks(
    database: Database, settings: Settings, server: FakeEndpoint, tasks: Sequence[Task], **options: Any
) -> str:
    """Submit a job of these tasks; return its id."""
    formulation = FORMULATIONS.load("open-ended")
    agent = Agent(
        dict.fromkeys(formulation.roles, server.tgi),
        "tools",
        limits=formulation.limits,
        samplings=formulation.samplings,
    )
    rows = rows_of(open_benchmark("toolbench"), tasks, "I1-inst")
    job = Evaluate(Infer("toolbench", rows.digest, "I1-inst", "open-ended", agent, **options))
    return submit(database, settings, job, rows)[0]


def list_waiting(database: Database, job: str = "") -> list[WaitingPlan]:
    with database.engine.connect() as connection:
        return find_waiting(connection, job)


def read_wait_reason(database: Database, job: str) -> str:
    """Return the wait reason of the job."""
    with database.engine.connect() as connection:
        return get_job(connection, job).waiting


def items(database: Database, job: str, *names: str) -> list[tuple[Any, ...]]:
    columns = [getattr(Item, name) for name in names]
    with database.engine.connect() as connection:
        return [
            tuple(row) for row in connection.execute(select(*columns).where(Item.job == job).order_by(Item.ordinal))
        ]


def read_everything(database: Database, job: str) -> dict[Any, Any]:
    """Return all stored values of a job's episodes except times and keys, answers of users included."""
    tables = {"episodes": read_stored_rows(database, job)}
    queries = (
        select(
            Item.ordinal,
            Approval.attempt,
            Approval.position,
            Approval.branch,
            Approval.command,
            Approval.shown,
            Approval.answer,
            Approval.note,
            Approval.who,
        )
        .join(EpisodeRow, EpisodeRow.id == Approval.episode)
        .join(Item, Item.id == EpisodeRow.id)
        .where(EpisodeRow.job == job)
        .order_by(Item.ordinal, Approval.attempt, Approval.position)
    )
    with database.engine.connect() as connection:
        return tables | {"approvals": [tuple(row) for row in connection.execute(queries)]}


def home_of(folder: Path, url: str, **options: Any) -> Settings:
    """Settings of workers that look often; the database is in the folder, or at the address."""
    values = {"poll_seconds": 0.02, "flush_seconds": 0.02, "heartbeat_seconds": 0.1} | options
    return Settings(home=folder, database_url=url, **values)
