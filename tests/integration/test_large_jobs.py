"""What a report says about all rows of a large job: computed when it is submitted, or in a stream."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import delete, event, select

from db.models import BaselineRow, Item
from db.queries.jobs import get_job
from db.queue import job_tasks
from db.queue.job_tasks import JobTasks
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import SpecError
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.reports import baselines
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.settings import Settings
from lumos_queue.submission import store
from lumos_queue.submission.store import Rows, submit
from tests.claims import new_job

GSM8K = open_benchmark("gsm8k")
TASKS = tuple(
    Task(
        "gsm8k",
        "data",
        str(number),
        f"Ida sold {number} tarts and 3 pies. How many?",
        {},
        {"answer": str(number + 3 * (number % 2)), "solution": ""},
    )
    for number in range(23)
)


class Reads:
    """How many rows of tasks each statement on a database has returned."""

    def __init__(self, database):
        self.rows: list[int] = []
        event.listen(database.engine, "before_cursor_execute", self._count)

    def _count(self, connection, _cursor, statement: str, parameters, *_: object) -> None:
        if "task.question" in statement:
            counted = connection.connection.cursor()
            counted.execute(f"SELECT count(*) FROM ({statement}) AS counted", parameters)
            self.rows.append(counted.fetchone()[0])


@pytest.fixture
def blocks_of_five(monkeypatch):
    monkeypatch.setattr(job_tasks, "BLOCK", 5)


def submitted(database, limit: int = 0) -> str:
    rows = Rows(GSM8K, "test", "data", TASKS, ())
    agent = Agent(roles={"solver": "scripted:x"}, domain="maths")
    job = Evaluate(Infer("gsm8k", "data", "test", "direct", agent, limit))
    return submit(database, Settings(), job, rows)[0]


def reported(database, job: str) -> dict:
    with database.engine.connect() as connection:
        return as_json(make_report(connection, get_job(connection, job)))["baselines"]


def kept(database) -> list[str]:
    with database.engine.connect() as connection:
        return list(connection.execute(select(BaselineRow.tasks)).scalars())


@pytest.mark.parametrize(("limit", "tasks"), [(0, "first 23"), (12, "first 12")])
def test_a_large_job_is_reported_without_reading_its_tasks(database, monkeypatch, limit, tasks):
    monkeypatch.setattr(store, "IN_MEMORY", 10)
    job, reads = submitted(database, limit), Reads(database)
    assert kept(database) == [tasks]
    monkeypatch.setattr(baselines, "_compute", None)
    assert reported(database, job)["best constant"]["value"] == pytest.approx(2 / (limit or 23), abs=1e-6)
    assert [rows for rows in reads.rows if rows > 1] == []


def test_a_small_job_is_stored_without_its_baselines(database):
    submitted(database)
    assert kept(database) == []


def test_the_same_rows_submitted_again_are_not_judged_again(database, monkeypatch):
    monkeypatch.setattr(store, "IN_MEMORY", 10)
    submitted(database)
    monkeypatch.setattr(baselines, "_compute", None)
    rows = Rows(GSM8K, "test", "data", TASKS, ())
    agent = Agent(roles={"solver": "scripted:x"}, domain="maths")
    other = Evaluate(Infer("gsm8k", "data", "test", "direct", agent, seed=1))
    assert submit(database, Settings(), other, rows)[1]


def test_a_job_that_is_stored_stays_so_when_its_rules_fail(database, monkeypatch, caplog):
    def fail(*_):
        raise SpecError("no")

    monkeypatch.setattr(store, "IN_MEMORY", 10)
    monkeypatch.setattr(store, "load_or_compute_baselines", fail)
    job = submitted(database)
    assert "are computed for its report: " in caplog.text
    assert reported(database, job)["best constant"]["value"] > 0


@pytest.mark.usefixtures("blocks_of_five")
def test_a_report_reads_few_tasks_at_once(database):
    job, reads = submitted(database), Reads(database)
    expected = as_json(baselines.compute_baselines(GSM8K, TASKS))
    assert reported(database, job) == expected and expected["sum of first two"]["value"] > 0
    assert [rows for rows in reads.rows if rows > 1] == [5, 5, 5, 5, 3]
    assert reported(database, job) == expected and len([rows for rows in reads.rows if rows > 1]) == 5


@pytest.mark.usefixtures("blocks_of_five")
def test_the_tasks_of_a_job_are_a_sequence(database):
    job = new_job(database, rows=tuple(replace(task, benchmark="wordmath") for task in TASKS), samples=2)
    with database.engine.connect() as connection:
        tasks = JobTasks(connection, job)
        stored = list(tasks)
        assert len(tasks) == 23 and [task.row for task in stored] == [task.row for task in TASKS]
        assert [tasks[number] for number in (0, 7, 22, -1)] == [stored[0], stored[7], stored[22], stored[22]]
        assert tasks[3:14:4] == stored[3:14:4]
        with pytest.raises(IndexError):
            tasks[23]


@pytest.mark.usefixtures("blocks_of_five")
def test_nothing_is_kept_of_a_job_that_is_removed_meanwhile(database, monkeypatch):
    """The rows of its data may stay, for another job."""
    job = submitted(database)
    read = JobTasks._read

    def remove_and_read(tasks: JobTasks, block: int) -> list[Task]:
        if block == 2:
            with database.writer.begin() as connection:
                connection.execute(delete(Item).where(Item.job == job))
        return read(tasks, block)

    monkeypatch.setattr(JobTasks, "_read", remove_and_read)
    with database.engine.connect() as connection:
        row = get_job(connection, job)
        with pytest.raises(SpecError, match="was removed while its tasks were read"):
            baselines.load_or_compute_baselines(connection, row, GSM8K)
    assert kept(database) == []
