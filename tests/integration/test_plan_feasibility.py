"""Reports count feasible plans by both rules, and jobs from before the released rule count them, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from db.engine.connection import Database, open_database
from db.queries.jobs import get_job
from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.cli.main import app
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.released_feasibility import find_released_refusal
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.plan_feasibility import plan_feasibility
from lumos_queue.reports.report import make_report
from lumos_queue.settings import Settings
from tests.integration.test_model_synthesis_jobs import LABELLED, write_rules

ALL = tasks_of("all")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def run_job(folder: Path, url: str, planner: str, *options: str, split: str = "labelled") -> tuple[Database, str]:
    command = ["evaluate", "openagi", "--split", split, "--formulation", "model-synthesis", "--planner", planner]
    command += ["--tool", "experts=oracle", "--option", "samples=1", "--json", *options]
    done = CliRunner().invoke(app, command, env={"LUMOS_HOME": str(folder), "LUMOS_DATABASE_URL": url})
    assert done.exit_code == 0, done.output
    database = open_database(Settings(home=folder, database_url=url).database)
    return database, json.loads(done.stdout.splitlines()[-1])["job"]


def report_of(database: Database, job: str) -> dict:
    with database.engine.connect() as connection:
        report = as_json(make_report(connection, get_job(connection, job)))
    database.close()
    return report


def repeat_first(steps: list[str]) -> list[str]:
    return [steps[0], *steps]


def by_released(*change) -> int:
    plans = [(repeat_first(list(spec.plan.names)) if change else spec.plan.names, spec.id) for spec in LABELLED]
    return sum(not find_released_refusal(names, number) for names, number in plans)


def test_gold_plans_by_both_rules(tmp_path, url):
    database, job = run_job(tmp_path, url, write_rules(tmp_path, "prompt-2"))
    report = report_of(database, job)
    assert report["plan_feasibility"] == {"rule": "types", "types": 20, "released": by_released(), "n": 20}
    assert 0 < by_released() < 20 and report["metrics"]["feasible"]["value"] == 1


def test_all_185_gold_plans_by_both_rules(tmp_path):
    rules = []
    for spec in ALL:
        reply = spec.plan.write()
        rules.append({"contains": f"<|user|>\nObjective: {spec.description}\n<|assistant|>", "reply": reply})
    (tmp_path / "gold.json").write_text(json.dumps(rules))
    planner = f"scripted:{tmp_path / 'gold.json'}"
    database, job = run_job(tmp_path, "", planner, split="all")
    assert report_of(database, job)["plan_feasibility"] == {"rule": "types", "types": 185, "released": 118, "n": 185}
    database, job = run_job(tmp_path, "", planner, "--setting", "feasibility=released", split="all")
    report = report_of(database, job)
    assert report["plan_feasibility"] == {"rule": "released", "types": 185, "released": 118, "n": 185}
    assert report["metrics"]["feasible"]["value"] == pytest.approx(118 / 185, abs=1e-6)
    assert report["endings"] == {"answered": 118, "infeasible": 67}


def test_repetitions_under_each_rule(tmp_path, url):
    planner = write_rules(tmp_path, "prompt-2", repeat_first)
    database, job = run_job(tmp_path, url, planner)
    types = report_of(database, job)
    assert types["plan_feasibility"]["released"] == by_released(repeat_first) > 0
    assert types["plan_feasibility"]["types"] == types["metrics"]["feasible"]["value"] == 0
    database, job = run_job(tmp_path, url, planner, "--setting", "feasibility=released")
    released = report_of(database, job)
    assert released["plan_feasibility"] == {**types["plan_feasibility"], "rule": "released"}
    assert released["metrics"]["feasible"]["value"] == pytest.approx(by_released(repeat_first) / 20)


def test_a_rejected_plan_is_feasible_by_neither_rule(tmp_path):
    planner = write_rules(tmp_path, "prompt-2", repeat_first)
    database, job = run_job(tmp_path, "", planner, "--setting", "duplicates=reject")
    counts = report_of(database, job)["plan_feasibility"]
    assert counts["types"] == counts["released"] == 0


def test_with_dedupe_first_both_rules_judge_the_plan_without_repetitions(tmp_path):
    planner = write_rules(tmp_path, "prompt-2", lambda steps: [*steps, steps[0]] if len(steps) > 1 else steps)
    for rule in ("types", "released"):
        chosen = ("--setting", "duplicates=dedupe_first", "--setting", f"feasibility={rule}")
        database, job = run_job(tmp_path, "", planner, *chosen)
        report = report_of(database, job)
        single_inputs = sum(len(spec.channels) == 1 for spec in LABELLED)  # else the repetition is in another segment
        assert report["plan_feasibility"]["released"] == by_released() == single_inputs
        assert report["plan_feasibility"]["types"] == single_inputs + 1, "Fill Mask may follow Question Answering"
        assert report["metrics"]["feasible"]["value"] == report["plan_feasibility"][rule] / 20


def test_an_earlier_attempt_and_an_end_by_infrastructure_are_not_counted(tmp_path):
    database, job = run_job(tmp_path, "", write_rules(tmp_path, "prompt-2"))
    with database.writer.connect() as connection:
        first = "(SELECT min(id) FROM episode)"
        connection.execute(text(f"UPDATE episode SET ending = 'infra_error' WHERE id = {first}"))
        connection.execute(text("UPDATE episode SET attempt = 2 WHERE id = (SELECT max(id) FROM episode)"))
        counts = plan_feasibility(connection, get_job(connection, job))
        connection.rollback()
    database.close()
    assert counts is not None and (counts.types, counts.n) == (18, 19)


def test_the_command_prints_both_counts(tmp_path, monkeypatch):
    database, job = run_job(tmp_path, "", write_rules(tmp_path, "prompt-2"))
    database.close()
    done = CliRunner().invoke(app, ["report", job, "--all"], env={"LUMOS_HOME": str(tmp_path), "COLUMNS": "200"})
    counts = f"feasible plans (run: types) 20 by types, {by_released()} as released, of 20"
    assert counts in " ".join(done.output.split())


def test_types_refuse_what_the_released_rule_repeats():
    spec = ALL[0]
    assert infeasible_because(type(spec.plan)((), (*spec.plan.tail, spec.plan.tail[0])), spec.signature)
