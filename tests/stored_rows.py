"""The stored rows of a job as plain values, to compare two databases; and small helpers to run jobs."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, select

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.models import CompletionRow, EpisodeRow, ExecutionRow, ScoreRow, SubgoalRow, TaskRow
from db.queries.jobs import get_job
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.base import Job
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, submit
from tests.services import wait_until
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

_PLACE = ("position", "branch", "command")
_COMPARED = {
    SubgoalRow: (*_PLACE, "number", "text"),
    CompletionRow: (*_PLACE, "role", "prompt_digest", "reply", "finish_reason", "prompt_tokens", "completion_tokens"),
    ExecutionRow: (*_PLACE, "variables", "name", "arguments", "status", "result", "outputs", "message"),
}


def read_stored_rows(database: Database, job: str) -> dict:
    """Return all values of each episode by (task row, sample), except times and surrogate keys."""
    with database.engine.connect() as connection:
        episodes = connection.execute(
            select(EpisodeRow.__table__, TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold)
            .join(TaskRow, TaskRow.id == EpisodeRow.task)
            .where(EpisodeRow.job == job)
        ).all()
        return {(episode.row, episode.sample): _episode(connection, episode) for episode in episodes}


def _episode(connection: Connection, episode) -> dict:
    names = (
        "question",
        "inputs",
        "gold",
        "ending",
        "answer",
        "message",
        "attempt",
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "formulation",
        "agent",
        "origin",
        "split",
    )
    fields = {name: getattr(episode, name) for name in names}
    for table, columns in _COMPARED.items():
        rows = connection.execute(
            select(*(getattr(table, name) for name in columns))
            .where(table.episode == episode.id, table.attempt == episode.attempt)
            .order_by(table.position, table.branch)
        )
        fields[table.__tablename__] = [tuple(row) for row in rows]
    scores = select(ScoreRow.metric, ScoreRow.version, ScoreRow.value, ScoreRow.detail)
    fields["scores"] = sorted(map(tuple, connection.execute(scores.where(ScoreRow.episode == episode.id))))
    return fields


def make_tables(home: Path) -> None:
    """Create the embedded database of this folder here, because in another process it takes half a second."""
    home.mkdir(parents=True, exist_ok=True)
    database = open_database(Settings(home=home).database)
    upgrade(database)
    database.close()


def state(database: Database, job: str) -> str:
    with database.engine.connect() as connection:
        return get_job(connection, job).state


def wait_for(database: Database, job: str, target: str = "done", seconds: float = 60.0) -> None:
    wait_until(lambda: state(database, job) == target, f"job {job} is {target}", seconds)


def run_embedded(folder: Path, job: Job, rows: Rows, url: str = "", **settings) -> tuple[Database, str]:
    """Run a job to its end in this process, as `lumos` without a server does; return its database and id."""
    values = Settings(home=folder, database_url=url, **settings)
    database = open_database(values.database)
    upgrade(database)
    identifier, _ = submit(database, values, job, rows)
    process = WorkerContext(Deployment(values))
    try:
        Dispatcher(process, [job.pool], only=identifier).run(lambda: False)
    finally:
        process.close()
    return database, identifier
