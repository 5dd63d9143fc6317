"""`lumos data openagi`, and an evaluation of gold plans on the folder that it wrote."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.openagi.splits import tasks_of
from tests.command_line import CommandLine
from tests.published_sets import write_all

SAMPLES = 2


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys) -> CommandLine:
    return CommandLine(tmp_path / "home", monkeypatch, capsys)


def build(lumos, sets, out, *options):
    return lumos("data", "openagi", "--from", sets, "--out", out, "--samples", SAMPLES, *options)


def test_gold_plans_run_on_the_folder(lumos, tmp_path):
    sets, out = write_all(tmp_path / "sets"), tmp_path / "openagi"
    done = build(lumos, sets / "coco", out, sets, "--tool", "machine-translation=own:")
    assert (done.code, done.lines) == (0, [f"185 tasks in {out}"]), done.err
    tasks = tasks_of("labelled")
    rules = [{"contains": f"{task.description}\n", "reply": task.plan.write()} for task in tasks]
    (tmp_path / "gold.json").write_text(json.dumps(rules))
    report = lumos(
        "evaluate",
        "openagi",
        *("--data", out, "--split", "labelled", "--option", f"samples={SAMPLES}"),
        *("--formulation", "model-synthesis", "--planner", f"scripted:{tmp_path / 'gold.json'}"),
        *("--tool", "experts=own:", "--json"),
    ).json
    assert report["n"] == len(tasks) and "infra_error" not in report["endings"]
    assert report["metrics"]["feasible"]["value"] == report["metrics"]["plan_exact"]["value"] == 1.0
    assert report["metrics"]["chrf"]["of"] and report["metrics"]["ssim"]["value"] > 0.3


def test_the_command_lists_what_is_missing_by_task(lumos, tmp_path):
    sets, out = write_all(tmp_path / "sets"), tmp_path / "openagi"
    (sets / "squad/dev-v1.1.json").write_text("{")
    (sets / "textvqa/TextVQA_0.5.1_val.json").unlink()
    done = build(lumos, sets, out)
    assert (done.code, done.lines) == (0, [f"66 tasks in {out}"])
    lines = [line for line in done.err.splitlines() if line.startswith("missing: ")]
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        "tasks 15-17, 21-23, 27-29, 33-35, 39-41, 45-47, 51-53, 57-59, 63-65, 69-71, 75-77, 81-83, 87-89, 93-95, "
        "99-101, 107-109, 112-114",
        "tasks 117-176",
        "tasks 177-184",
    ]
    assert "hf download t5-large" in lines[0] and "--tool machine-translation=URL" in lines[0]
    again = build(lumos, sets, out)
    assert again.code == 2 and "exists already" in again.err
    report = build(lumos, sets, tmp_path / "other", "--json").json
    assert len(report["tasks"]) == 66 and len(report["missing"]) == 119
    assert report["missing"]["180"].startswith("SQuAD val: 'squad/dev-v1.1.json' is not JSON")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--tool", "experts=own"), "machine-translation"),
        (("--tool", "machine-translation=oracle"), "has no translations of published data"),
        (("--tool", "machine-translation=hf:/no/folder"), "needs a model folder"),
        (("--tool", "machine-translation"), "expected --tool NAME=VALUE"),
    ],
)
def test_a_wrong_option_is_refused_in_a_line(options, problem, lumos, tmp_path):
    done = build(lumos, write_all(tmp_path / "sets"), tmp_path / "out", *options)
    assert done.code == 2 and problem in done.err and len(done.err.splitlines()) == 1
    assert not (tmp_path / "out").exists()
