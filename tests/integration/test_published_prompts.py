"""Jobs under the schemas with published contents, and under a template of a person."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from lumos_queue.cli.main import app
from lumos_queue.prompts.published_planner import AROUND_OBJECTIVE
from tests.integration.test_model_synthesis_jobs import LABELLED, report_of
from tests.integration.test_plan_feasibility import run_job

TEMPLATE = "An objective of mine:\n{question}\nThe models, please."


def write_rules(folder) -> str:
    rules = [{"contains": spec.description, "reply": spec.plan.write()} for spec in LABELLED]
    (folder / "rules.json").write_text(json.dumps(rules))
    return f"scripted:{folder / 'rules.json'}"


def first_prompt(job: str, environment: dict[str, str]) -> str:
    shown = CliRunner().invoke(app, ["show", f"{job}-0", "--json"], env=environment)
    assert shown.exit_code == 0, shown.output
    (prompt,) = (step["prompt"] for step in json.loads(shown.stdout.splitlines()[-1])["steps"] if step.get("prompt"))
    return prompt


@pytest.mark.parametrize("schema", AROUND_OBJECTIVE)
def test_each_published_schema_runs_end_to_end(tmp_path, schema):
    database, job = run_job(tmp_path, "", write_rules(tmp_path), "--setting", f"schema={schema}")
    report = report_of(database, job)
    database.close()
    assert report["endings"] == {"answered": 20} and report["metrics"]["plan_exact"]["value"] == 1


def test_a_template_is_sent_word_for_word_and_a_rerun_keeps_it(tmp_path):
    (tmp_path / "template.txt").write_text(f"{TEMPLATE}\n")
    database, job = run_job(tmp_path, "", write_rules(tmp_path), "--prompt", str(tmp_path / "template.txt"))
    database.close()
    environment = {"LUMOS_HOME": str(tmp_path)}
    assert first_prompt(job, environment) == TEMPLATE.format(question=LABELLED[0].description)
    again = CliRunner().invoke(app, ["rerun", job, "--setting", "feasibility=released", "--json"], env=environment)
    assert again.exit_code == 0, again.output
    repeated = json.loads(again.stdout.splitlines()[-1])["job"]
    assert repeated != job
    assert first_prompt(repeated, environment) == TEMPLATE.format(question=LABELLED[0].description)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Plan this.", "has no {question}"),
        ("{question} {examples}", "does not replace {examples}: leave it out of --prompt"),
        ("{question} {choices}", "does not replace {choices}: leave it out of --prompt"),
    ],
)
def test_a_template_that_cannot_be_filled_is_refused(tmp_path, text, problem):
    (tmp_path / "template.txt").write_text(text)
    command = ["evaluate", "openagi", "--split", "labelled", "--formulation", "model-synthesis", "--tool"]
    command += ["experts=oracle", "--planner", write_rules(tmp_path), "--prompt", str(tmp_path / "template.txt")]
    done = CliRunner().invoke(app, command, env={"LUMOS_HOME": str(tmp_path)})
    assert done.exit_code == 1 and problem in str(done.exception)


def test_plans_of_experts_have_no_system_message(tmp_path):
    command = ["evaluate", "openagi", "--split", "labelled", "--formulation", "model-synthesis", "--tool"]
    command += ["experts=oracle", "--planner", write_rules(tmp_path), "--system", "Hello."]
    done = CliRunner().invoke(app, command, env={"LUMOS_HOME": str(tmp_path)})
    assert done.exit_code == 1 and "The formulation 'model-synthesis' has no --system" in str(done.exception)
