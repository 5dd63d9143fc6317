"""What a report counts of a job's runs of experts: those of accepted attempts, by what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update
from typer.testing import CliRunner

from db.engine.connection import Database
from db.journal.tool_calls import find_call_in_any_job
from db.models import ToolCallRow
from db.queries.jobs import get_job
from lumos_queue.cli.main import app
from lumos_queue.experts.parsing import UNBALANCED
from lumos_queue.formulations.plan_reading import UNRESOLVED
from lumos_queue.pages.sections.details import list_expert_figures
from lumos_queue.reports.expert_runs import ExpertRuns, ExpertSamples, PlanSteps
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from tests.integration.test_model_synthesis_jobs import LABELLED, run_job, write_rules

RUNS = sum(len(one.plan.names) for one in LABELLED)


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Iterator[tuple[Database, str]]:
    folder = tmp_path_factory.mktemp("job")
    database, job = run_job(folder, "", write_rules(folder, "prompt-2"))
    yield database, job
    database.close()


def figures(stored: tuple[Database, str], *changes: str) -> dict[str, Any]:
    """The figures of the report after these changes, which are undone."""
    report = report_after(stored, *changes)
    return {"expert_runs": as_json(report.expert_runs), "plan_steps": as_json(report.plan_steps)}


def report_after(stored: tuple[Database, str], *changes: str) -> JobReport:
    """The report after these changes, which are undone."""
    database, job = stored
    with database.writer.connect() as connection:
        row = get_job(connection, job)
        for change in changes:
            assert connection.execute(text(change)).rowcount > 0
        report = make_report(connection, row)
        connection.rollback()
    return report


FIRST = "(SELECT min(rowid) FROM tool_call WHERE provenance = 'oracle')"


def test_runs_are_counted_by_where_their_results_are_from(stored):
    told = figures(stored)
    assert sum(told["expert_runs"]["runs"].values()) == RUNS and set(told["expert_runs"]["runs"]) == {
        "oracle",
        "recorded",
    }
    assert told["expert_runs"]["samples"] == {"n": 2 * RUNS, "without_value": {}}
    assert told["expert_runs"]["failed"] == {} and told["plan_steps"] == {"n": RUNS, "unresolved": 0}


def test_a_person_reads_them_with_the_scores_by_group(stored, monkeypatch):
    database, job = stored
    monkeypatch.setenv("LUMOS_HOME", str(Path(database.url.removeprefix("sqlite:///")).parent))
    words = " ".join(CliRunner().invoke(app, ["report", job], env={"COLUMNS": "80"}).output.split())
    assert f"{job}: the overall score 'paper' was not computed: nothing was judged by" in words
    words = " ".join(CliRunner().invoke(app, ["report", job, "--all"], env={"COLUMNS": "80"}).output.split())
    assert " by category category items" in words and f"plan steps that name no expert 0 of {RUNS}" in words


def test_a_run_that_failed_is_counted_apart_and_has_no_samples(stored):
    before = figures(stored)["expert_runs"]
    told = figures(stored, f"UPDATE tool_call SET status = 'expert' WHERE rowid = {FIRST}")["expert_runs"]
    assert told["failed"] == {"expert": 1}
    assert told["runs"] == before["runs"] | {"oracle": before["runs"]["oracle"] - 1}
    assert told["samples"]["n"] == 2 * RUNS - 2


def test_samples_without_a_value_are_counted_by_the_kind_of_their_problem(stored):
    value = {"kind": "values", "type": "text", "items": [None, None], "text": ""}
    value |= {"problems": {"0": "died: status -9: killed", "1": "timeout: no answer"}}
    outputs = json.dumps([value]).replace(":", "\\:")
    change = f"UPDATE tool_call SET outputs = '{outputs}', outputs_block = NULL WHERE rowid = {FIRST}"
    report = report_after(stored, change)
    assert report.expert_runs is not None
    assert report.expert_runs.samples == ExpertSamples(2 * RUNS, {"died": 1, "timeout": 1})
    runs = report.expert_runs.runs
    rows = dict(list_expert_figures(report))
    assert (rows["runs of experts: oracle"], rows["runs of experts: recorded"]) == (
        f"{runs['oracle']}",
        f"{runs['recorded']}",
    )
    assert rows["samples without a value"] == f"2 of {2 * RUNS}"
    assert rows["plan steps that name no expert"] == f"0 of {RUNS}"


def test_a_step_without_an_expert_counts_and_a_plan_that_could_not_be_read_has_no_steps(stored):
    first, second = (f"(SELECT min(rowid) + {number} FROM subgoal)" for number in (0, 1))
    steps = figures(
        stored,
        f"UPDATE subgoal SET text = '{UNBALANCED}' WHERE rowid = {first}",
        f"UPDATE subgoal SET text = '{UNRESOLVED}{UNBALANCED}' WHERE rowid = {second}",
    )["plan_steps"]
    assert steps == {"n": RUNS - 1, "unresolved": 1}


@pytest.mark.parametrize("table", ["tool_call", "subgoal"])
def test_what_an_abandoned_attempt_did_is_not_counted(stored, table):
    database, _ = stored
    with database.engine.connect() as connection:
        columns = [name for (name,) in connection.execute(text(f"SELECT name FROM pragma_table_info('{table}')"))]
    given = ", ".join("attempt + 7" if name == "attempt" else name for name in columns)
    assert figures(stored, f"INSERT INTO {table} SELECT {given} FROM {table}") == figures(stored)


def test_neither_unfinished_episodes_nor_other_jobs_nor_other_tools_count(stored):
    nothing = {
        "expert_runs": {"runs": {}, "failed": {}, "samples": {"n": 0, "without_value": {}}},
        "plan_steps": {"n": 0, "unresolved": 0},
    }
    assert figures(stored, "UPDATE episode SET ending = ''") == nothing
    told = figures(stored, "UPDATE tool_call SET tool = 'page'")
    assert told["expert_runs"] == nothing["expert_runs"] and told["plan_steps"]["n"] == RUNS
    copied = "INSERT INTO job SELECT {} FROM job"
    database, _ = stored
    with database.engine.connect() as connection:
        columns = [name for (name,) in connection.execute(text("SELECT name FROM pragma_table_info('job')"))]
    given = ", ".join("'other'" if name == "id" else name for name in columns)
    assert figures(stored, copied.format(given), "UPDATE episode SET job = 'other'") == nothing


def expert_parts(report: JobReport) -> tuple[ExpertRuns | None, PlanSteps | None]:
    return report.expert_runs, report.plan_steps


def test_jobs_of_other_formulations_have_no_such_figures(stored):
    database, job = stored
    with database.writer.connect() as connection:
        connection.execute(text("UPDATE job SET formulation = 'iterative'"))
        assert expert_parts(make_report(connection, get_job(connection, job))) == (None, None)
        connection.execute(text("UPDATE job SET formulation = 'of a later version'"))
        assert expert_parts(make_report(connection, get_job(connection, job))) == (None, None)
        connection.rollback()


def test_of_equal_runs_the_first_that_succeeded_answers(stored):
    database, _ = stored
    with database.writer.connect() as connection:
        query = "SELECT command, min(episode) FROM tool_call GROUP BY command HAVING count(DISTINCT episode) > 1"
        command, episode = connection.execute(text(query)).all()[0]
        first = (ToolCallRow.command == command, ToolCallRow.episode == episode)
        command = command.hex()
        connection.execute(update(ToolCallRow).where(*first).values(provenance="first"))
        found = find_call_in_any_job(connection, command)
        assert found is not None and (found.status, found.provenance) == ("ok", "first")
        connection.execute(update(ToolCallRow).where(*first).values(status="expert"))
        found = find_call_in_any_job(connection, command)
        assert found is not None and found.status == "ok" and found.provenance != "first"
        connection.execute(text("UPDATE tool_call SET status = 'expert'"))
        assert find_call_in_any_job(connection, command) is None
        connection.rollback()
