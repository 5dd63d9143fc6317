"""Whole jobs of model synthesis on both databases: scores, results used again, pictures shown, saved and removed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import func, select
from typer.testing import CliRunner

from db.engine.connection import Database, open_database
from db.models import Artifact, DatasetArtifact, EpisodeArtifact, ToolCallRow
from db.queries.jobs import get_job
from db.queue.job_changes import remove
from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.cli.main import app
from lumos_queue.errors import SpecError
from lumos_queue.experts.feasibility import infeasible_because
from lumos_queue.experts.plans import Plan
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.settings import Settings
from tests.tiny_model import make_tiny_model

LABELLED = tasks_of("labelled")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request) -> str:
    return "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


def write_rules(folder: Path, schema: str, change=lambda steps: steps) -> str:
    """A planner that knows the gold plan of each task, and says which text a step is for where two would do."""
    rules = []
    for spec in LABELLED:
        names = [*spec.plan.tail] if spec.plan.branches else [*spec.plan.names]
        for channel, branch in reversed(list(zip(spec.channels, spec.plan.branches, strict=False))):
            names[:0] = [f"{name} on the {channel.slot.name}" for name in branch]
        steps = "".join(f"Step {number}: {name},\n" for number, name in enumerate(change(names), start=1))
        word = "Objective" if schema.startswith("prompt") else "Problem"
        ending = "\nSolution:" if schema == "few-shot" else ""
        rules.append({"contains": f"<|user|>\n{word}: {spec.description}{ending}\n<|assistant|>", "reply": steps})
    path = folder / f"{schema}.json"
    path.write_text(json.dumps(rules))
    return f"scripted:{path}"


def run_job(folder: Path, url: str, planner: str, schema: str = "prompt-2", seed: int = 0) -> tuple[Database, str]:
    """`lumos evaluate` without a server; returns the database, which the caller closes, and the job."""
    command = [
        "evaluate",
        "openagi",
        "--split",
        "labelled",
        "--formulation",
        "model-synthesis",
        "--planner",
        planner,
        "--tool",
        "experts=oracle",
        "--option",
        "samples=2",
        "--setting",
        f"schema={schema}",
        "--seed",
        str(seed),
        "--json",
    ]
    done = CliRunner().invoke(app, command, env={"LUMOS_HOME": str(folder), "LUMOS_DATABASE_URL": url})
    assert done.exit_code == 0, done.output
    settings = Settings(home=folder, database_url=url)
    return open_database(settings.database), json.loads(done.stdout.splitlines()[-1])["job"]


def report_of(database: Database, job: str) -> dict:
    with database.engine.connect() as connection:
        return as_json(make_report(connection, get_job(connection, job)))


def count(database: Database, table) -> int:
    with database.engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.mark.parametrize("schema", ["zero-shot", "prompt-1", "prompt-2", "few-shot"])
def test_each_schema_runs_end_to_end(tmp_path, schema):
    database, job = run_job(tmp_path, "", write_rules(tmp_path, schema), schema)
    report = report_of(database, job)
    database.close()
    assert report["endings"] == {"answered": 20}
    metrics = {name: one["value"] for name, one in report["metrics"].items()}
    assert metrics["feasible"] == metrics["recovery"] == metrics["plan_exact"] == 1.0
    assert report["plan_steps"] == {"n": sum(len(one.plan.names) for one in LABELLED), "unresolved": 0}


def test_infeasible_plans_and_steps_that_were_not_understood_are_counted(tmp_path):
    planner = write_rules(tmp_path, "prompt-2", lambda names: ["Bake the cake", *names[:-1]])
    database, job = run_job(tmp_path, "", planner)
    report = report_of(database, job)
    database.close()
    endings = report["endings"]
    shortened = [(Plan(one.plan.branches, one.plan.tail[:-1]), one.signature) for one in LABELLED]
    expected = sum(bool(infeasible_because(*one)) for one in shortened)
    assert 0 < expected < 20 and endings == {"infeasible": expected, "answered": 20 - expected}
    assert report["plan_steps"]["unresolved"] == 20
    feasible = report["metrics"]["feasible"]
    assert feasible["of"] == 20 and feasible["value"] == pytest.approx(endings.get("answered", 0) / 20)
    assert sum(one["episodes"] for one in report["problems"] if one["ending"] == "infeasible") == endings["infeasible"]


def test_brackets_that_cannot_be_read_are_no_step_of_a_plan(tmp_path, url):
    (tmp_path / "rules.json").write_text(json.dumps([{"contains": "", "reply": "((Bake the cake, Colorization"}]))
    database, job = run_job(tmp_path, url, f"scripted:{tmp_path / 'rules.json'}")
    report = report_of(database, job)
    database.close()
    assert report["plan_steps"] == {"n": 40, "unresolved": 20}


def test_a_second_job_runs_nothing_again_and_each_keeps_what_its_rows_name(tmp_path, url):
    planner = write_rules(tmp_path, "prompt-2")
    database, first = run_job(tmp_path, url, planner)
    runs = report_of(database, first)["expert_runs"]["runs"]
    assert sum(runs.values()) == sum(len(one.plan.names) for one in LABELLED) and runs["recorded"] > 0
    database.close()
    database, second = run_job(tmp_path, url, planner, seed=1)
    assert first != second
    again = report_of(database, second)["expert_runs"]
    assert again["runs"] == {"recorded": sum(runs.values())} and not again["failed"]
    assert count(database, ToolCallRow) == 2 * sum(runs.values()), "each run has its own row"
    artifacts, named = count(database, Artifact), count(database, EpisodeArtifact)
    remove(database, first)
    assert count(database, Artifact) == artifacts, "the second job names them all"
    assert count(database, EpisodeArtifact) == named // 2
    remove(database, second)
    assert count(database, EpisodeArtifact) == 0
    assert count(database, Artifact) == count(database, DatasetArtifact) == 0, "no orphan"
    database.close()


def test_pictures_are_shown_and_saved_and_nothing_is_overwritten(tmp_path, monkeypatch):
    database, job = run_job(tmp_path, "", write_rules(tmp_path, "prompt-2"))
    database.close()
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    number = next(place for place, one in enumerate(LABELLED) if one.category == "image+text-text")
    shown = json.loads(CliRunner().invoke(app, ["show", f"{job}-{number}", "--json"]).stdout)
    assert {one["media_type"] for one in shown["pictures"]} == {"image/png"} and shown["pictures"][0]["bytes"] > 100
    words = " ".join(CliRunner().invoke(app, ["show", f"{job}-{number}"]).stdout.split())
    assert shown["pictures"][0]["sha256"][:12] in words and "image/png" in words
    folder = tmp_path / "saved"
    done = CliRunner().invoke(app, ["show", f"{job}-{number}", "--save", str(folder)])
    assert done.exit_code == 0
    written = sorted(one.name for one in folder.iterdir())
    assert len(written) == len(shown["pictures"]) and all(one.endswith(".png") for one in written)
    assert (folder / written[0]).read_bytes().startswith(b"\x89PNG")
    before = {one: (folder / one).read_bytes() for one in written}
    (folder / written[0]).unlink()
    again = CliRunner().invoke(app, ["show", f"{job}-{number}", "--save", str(folder)])
    assert again.exit_code != 0 and sorted(one.name for one in folder.iterdir()) == written[1:], "all, or nothing"
    assert all((folder / one).read_bytes() == before[one] for one in written[1:])


def test_a_job_of_constrained_plans_is_stored_and_shown_with_its_candidates(tmp_path, url, monkeypatch):
    pytest.importorskip("torch")
    make_tiny_model(tmp_path / "model", context=1024)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setenv("LUMOS_DATABASE_URL", url)
    command = [
        "evaluate",
        "openagi",
        "--split",
        "labelled",
        "--limit",
        "6",
        "--formulation",
        "model-synthesis",
        "--planner",
        f"local:{tmp_path / 'model'}",
        "--tool",
        "experts=oracle",
        "--option",
        "samples=1",
        "--setting",
        "schema=fine-tuning",
        "--setting",
        "decoding=constrained",
        "--setting",
        "search=apart",
        "--setting",
        "candidates=3",
        "--sampling",
        "planner.beams=4",
        "--sampling",
        "planner.epsilon=0.5",
        "--json",
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    job = json.loads(done.stdout.splitlines()[-1])["job"]
    for number in range(6):
        shown = json.loads(CliRunner().invoke(app, ["show", f"{job}-{number}", "--json"]).stdout)
        assert shown["ending"] != "infeasible", shown["message"]
        (*_, last) = [step for step in shown["steps"] if "candidates" in step]
        logprobs = [one["logprob"] for one in last["candidates"]]
        assert len(logprobs) == 3 and logprobs == sorted(logprobs, reverse=True) and logprobs[0] <= 0
        assert last["what"] in [one["text"] for one in last["candidates"]]
    words = " ".join(CliRunner().invoke(app, ["show", f"{job}-0"]).stdout.split())
    assert "candidate 3, log-probability -" in words
    assert "beams 4, epsilon 0.5" in " ".join(CliRunner().invoke(app, ["job", job]).stdout.split())
    refused = CliRunner().invoke(app, [*command, "--sampling", "planner.temperature=1"])
    assert isinstance(refused.exception, SpecError)
    assert "needs --sampling planner.temperature=0" in str(refused.exception)
