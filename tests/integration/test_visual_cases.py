"""Sum2Act's four cases through the real commands, by a scripted router over experts by rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from lumos_queue.benchmarks.openagi.rules.pictures import AnswerFromScene
from lumos_queue.benchmarks.sum2act_visual.cases import CASES
from lumos_queue.cli.main import app
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.submission.agents import ROLE_OPTIONS
from tests.fake_endpoint import FakeEndpoint
from tests.visual_router import make_router


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """One database for all: runs of experts that it has are not made again."""
    return tmp_path_factory.mktemp("visual")


def lumos(home: Path, *words: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, [*words, "--json"], env={"LUMOS_HOME": str(home), "LUMOS_DATABASE_URL": ""})
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout.splitlines()[-1])


def evaluate(home: Path, formulation: str, *options: str, limit: int = 4) -> dict[str, Any]:
    with FakeEndpoint(make_router()) as server:
        roles = []
        for role in FORMULATIONS.load(formulation).roles:
            own = role in ROLE_OPTIONS
            roles += [f"--{role}", server.tgi] if own else ["--role", f"{role}={server.tgi}"]
        return lumos(
            home,
            "evaluate",
            "sum2act_visual",
            "--split",
            "test",
            "--formulation",
            formulation,
            "--limit",
            str(limit),
            *roles,
            *options,
        )


def shown(home: Path, job: str, number: int) -> dict[str, Any]:
    return lumos(home, "show", f"{job}-{number}", "--save", str(home / f"{job}-{number}"))


def test_a_scripted_router_solves_the_four_cases_and_their_pictures_are_saved(tmp_path):
    home = tmp_path  # where no expert has run yet
    report = evaluate(home, "sum2act", "--tool", "experts=own")
    assert report["endings"] == {"answered": 4} and report["value"] == 1.0 and report["correct"] == 4
    assert report["metrics"]["gold_calls"] == {"value": 1.0, "ci95": report["metrics"]["gold_calls"]["ci95"], "of": 7}
    assert report["tool_calls"] == [{"provenance": "live", "status": "ok", "calls": 5}]
    folders = []
    for number in range(4):
        found = shown(home, report["job"], number)
        folder = home / f"{report['job']}-{number}"
        assert sorted(found["saved"]) == sorted(one.name for one in folder.iterdir())
        assert all(Image.open(one).size == (64, 64) for one in folder.iterdir())
        folders.append({one.name.partition("-000")[0].lstrip("0123456789-"): one for one in folder.iterdir()})
    assert [set(one) for one in folders] == [
        {"image", "conditioned-image-generation"},
        {"cat", "dog", "image-editing"},
        {"camera", "webcam", "image-style-transfer"},
        {"text-to-image-generation"},
    ]
    cat, dog, edited = (folders[1][name].read_bytes() for name in ("cat", "dog", "image-editing"))
    colours = [ask(one, f"what colour is the {name}?") for one, name in ((cat, "cat"), (edited, "dog"), (dog, "dog"))]
    assert colours[0] == colours[1] != colours[2]


def ask(picture: bytes, question: str) -> str:
    return AnswerFromScene().run(picture, question.encode()).decode()


@pytest.mark.parametrize("formulation", ["react", "dfsdt", "rewoo"])
def test_other_formulations_solve_them_unchanged_without_running_an_expert_again(home, formulation):
    if not (home / "lumos.db").exists():
        evaluate(home, "sum2act", "--tool", "experts=own")
    report = evaluate(home, formulation, "--tool", "experts=own")
    assert report["value"] == 1.0 and report["endings"] == {"answered": 4}
    runs = {one["provenance"]: one["calls"] for one in report["tool_calls"]}
    assert "by_provenance" not in report, "a run that was made before is as real as another"
    assert sum(runs.values()) == 5 and runs.get("live", 0) == (1 if formulation == "rewoo" else 0), "its dish differs"


def test_without_weights_the_model_is_told_so_and_the_case_is_not_solved(home):
    report = evaluate(home, "react", limit=1)
    assert report["value"] == 0.0 and report["tools"]["experts"] == "hf"
    (step,) = [one for one in lumos(home, "show", f"{report['job']}-0")["steps"] if one["who"] == "tool"][:1]
    assert "not run: needs" in step["result"]


def test_each_case_has_a_row_of_the_table_from_the_newest_job(home, tmp_path):
    (table,) = lumos(tmp_path, "papers", "sum2act-visual")["tables"]
    assert all("not run: needs lumos evaluate sum2act_visual" in row["status"] for row in table["rows"])
    job = evaluate(home, "sum2act", "--tool", "experts=own", "--seed", "7")["job"]
    (table,) = lumos(home, "papers", "sum2act-visual")["tables"]
    assert [row["row"] for row in table["rows"]] == list(CASES)
    for row in table["rows"]:
        assert row["ours"]["job"] == job and row["ours"]["value"] == 100.0 and row["ours"]["n"] == "1"
        assert row["status"] == "experts: own (substitute); router: fake"


def test_titles_and_legends_are_of_the_table_that_is_shown(home, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    job = evaluate(home, "sum2act", "--tool", "experts=own")["job"]
    environment = {"LUMOS_HOME": str(home), "LUMOS_DATABASE_URL": ""}
    report = CliRunner().invoke(app, ["report", job, "--all"], env=environment).output
    assert f"Calls of tools: {job} sum2act\n" in report
    tables = CliRunner().invoke(app, ["papers", "sum2act-visual"], env=environment).output
    assert "sum2act-visual: per cent of a case's tasks" in tables and "[T] ToolBench" not in tables
