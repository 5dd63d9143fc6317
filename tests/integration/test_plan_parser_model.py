"""Jobs whose plans a model reads: its calls are recorded, tried again, resumed and named like those of every model."""

from __future__ import annotations

import json

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from db.engine.connection import open_database
from lumos_queue.cli.main import app
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.integration.test_model_synthesis_jobs import LABELLED, report_of

WORDS = {
    spec_name: f"use the tool number {number}"
    for number, spec_name in enumerate(dict.fromkeys(name for spec in LABELLED for name in spec.plan.names))
}
NAMES = {words: name for name, words in WORDS.items()}


def write_planner(folder) -> str:
    """A planner that paraphrases every expert, so that only the parser knows the names."""
    rules = []
    for spec in LABELLED:
        *branches, tail = [", ".join(WORDS[name] for name in part) for part in (*spec.plan.branches, spec.plan.tail)]
        rules.append(
            {"contains": spec.description, "reply": "".join(f"({branch},)" for branch in branches) + f"{tail},"}
        )
    (folder / "rules.json").write_text(json.dumps(rules))
    return f"scripted:{folder / 'rules.json'}"


def name_expert(prompt: str) -> str:
    step = prompt.rpartition("Step: ")[2].partition("\n")[0]
    return NAMES.get(step, "none")


def evaluate(folder, planner: str, *options: str):
    command = ["evaluate", "openagi", "--split", "labelled", "--formulation", "model-synthesis", "--planner", planner]
    command += ["--tool", "experts=oracle", "--option", "samples=1", "--json", *options]
    return CliRunner().invoke(app, command, env={"LUMOS_HOME": str(folder)})


def job_of(done) -> str:
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])["job"]


def test_calls_of_the_parser_are_recorded_retried_and_not_repeated(tmp_path):
    with FakeEndpoint(name_expert, failures=["503", "garbage", "reset"]) as server:
        job = job_of(evaluate(tmp_path, write_planner(tmp_path), "--setting", f"parser=model:{server.tgi}"))
        database = open_database(Settings(home=tmp_path).database)
        with database.writer.connect() as connection:
            rows = connection.execute(text("SELECT role, count(*) FROM completion GROUP BY role")).all()
            roles = connection.execute(text("SELECT role, url FROM job_endpoint")).all()
        report = report_of(database, job)
        database.close()
        assert report["endings"] == {"answered": 20} and report["metrics"]["plan_exact"]["value"] == 1
        assert dict(map(tuple, rows)) == {"planner": 20, "parser": len(server.calls) - 3}
        assert ("parser", server.tgi) in [tuple(row) for row in roles]
        assert "calls_as_expected" not in report
        calls = len(server.calls)
        environment = {"LUMOS_HOME": str(tmp_path)}
        again = CliRunner().invoke(app, ["rerun", job, "--setting", "feasibility=released", "--json"], env=environment)
        repeated = job_of(again)
        assert len(server.calls) == 2 * calls - 3, "another request asks the same parser"
        names = CliRunner().invoke(app, ["rerun", repeated, "--setting", "parser=names", "--json"], env=environment)
        assert job_of(names) and len(server.calls) == 2 * calls - 3


def test_a_parser_that_fails_pauses_the_job_which_resumes_without_asking_again(tmp_path):
    """The planner's reply and the parser's replies that arrived are not asked for again."""
    with FakeEndpoint(name_expert) as server:
        server.control({"mode": "400"})
        first = evaluate(tmp_path, write_planner(tmp_path), "--setting", f"parser=model:{server.tgi}")
        database = open_database(Settings(home=tmp_path).database)
        with database.writer.connect() as connection:
            job = connection.execute(text("SELECT id FROM job")).scalar_one()
            before = dict(map(tuple, connection.execute(text("SELECT role, count(*) FROM completion GROUP BY role"))))
        assert before.get("parser", 0) == 0 and before["planner"] > 0, first.output
        server.control({"mode": "ok"})
        done = CliRunner().invoke(app, ["resume", job, "--json"], env={"LUMOS_HOME": str(tmp_path)})
        assert done.exit_code == 0, done.output
        with database.writer.connect() as connection:
            attempts = connection.execute(text("SELECT max(attempt) FROM episode")).scalar_one()
            after = dict(map(tuple, connection.execute(text("SELECT role, count(*) FROM completion GROUP BY role"))))
        report = report_of(database, job)
        database.close()
    assert attempts == 1 and after["planner"] == 20
    assert report["endings"] == {"answered": 20} and report["metrics"]["plan_exact"]["value"] == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--setting", "parser=model:nowhere"), "or model:URL, not 'model:nowhere'"),
        (("--setting", "parser=model:nowhere:9"), "No endpoint scheme called"),
        (("--setting", "parser=model:"), "must be names or encoder:FOLDER or model:URL"),
        (("--role", "parser=tgi://127.0.0.1:9"), "role that --role can set here"),
        (("--setting", "parser=names", "--sampling", "parser.top_p=1"), "role that --sampling can set here"),
    ],
)
def test_a_parser_that_cannot_be_used_is_refused_at_submission(tmp_path, options, problem):
    done = evaluate(tmp_path, write_planner(tmp_path), *options)
    assert done.exit_code == 1 and problem in str(done.exception), done.exception
