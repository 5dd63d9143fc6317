"""Which evaluations fill rows of OpenAGI's tables: none on tasks that were shown, taught or rewarded."""

from __future__ import annotations

import json
import shutil

import pytest

from lumos_queue.benchmarks.openagi.splits import tasks_of
from lumos_queue.papers.openagi_results import PLANNER_TABLES
from tests.integration.test_model_synthesis_jobs import run_job, write_rules
from tests.integration.test_openagi_tables import shown, weights
from tests.integration.test_openagi_tuned import FINE_TUNED, RLTF, fit, run
from tests.tiny_flan_t5 import make_tiny_flan_t5

__all__ = ["weights"]  # pytest finds the fixture here
CONSTRAINED = ("--setting", "schema=fine-tuning", "--setting", "decoding=constrained")


def evaluate(home, planner: str, split: str, *settings: str, limit: int = 3) -> str:
    """Evaluate the first tasks of a split (of the held-out tasks, those of pictures). Return the job's id."""
    command = ["evaluate", "openagi", "--split", split, "--limit", str(limit), "--planner", planner]
    command += ["--formulation", "model-synthesis", "--tool", "experts=oracle", "--option", "samples=1"]
    return run(home, *command, *settings)["job"]


def vit_row(home, row: str) -> dict:
    (vit,) = (figure for figure in shown(home, row) if figure["column"] == "ViT")
    return vit


def make_t5(folder) -> str:
    return f"local:{make_tiny_flan_t5(folder, [task.description + task.plan.write() for task in tasks_of('labelled')])}"


def test_a_planner_that_copies_its_plans_from_the_prompt_fills_no_row(tmp_path, weights):
    """A scripted planner whose replies are the solutions that the few-shot prompt shows."""
    database, job = run_job(tmp_path, "", write_rules(tmp_path, "few-shot"), "few-shot")
    database.close()
    for key in PLANNER_TABLES:
        figures = shown(tmp_path, key)
        assert all("ours" not in figure and figure["status"].startswith("not run: ") for figure in figures)
        for figure in figures:
            explains = f"job {job} fills no row: its prompt shows 20 of its 20 tasks" in figure["status"]
            assert explains == figure["row"].endswith("few-shot")
    run(tmp_path, "papers", "openagi-1")


def test_a_held_out_job_fills_its_row_with_a_remark_for_each_difference(tmp_path, weights):
    """The planner is an imported model: nobody here knows what it was trained on."""
    settings = ("--setting", "schema=few-shot", "--setting", "decoding=constrained", "--max-tokens", "60")
    planner = make_t5(tmp_path / "imported")
    job = evaluate(tmp_path, planner, "heldout", *settings)
    vit = vit_row(tmp_path, "openagi-1/GPT-4-few-shot")
    assert vit["ours"]["job"] == job
    for remark in (
        "n differs: 3 of 55 tasks",
        "other weights: planner is imported, not GPT-4",
        "training unknown: no job of this database wrote planner imported",
        "decoding is constrained, not free",
        "feasibility is types, not released",
        "samples is 1, not 100",
        "other experts: oracle",
        "other data: generated",
        "other weights of scores: VIT@",
    ):
        assert remark in vit["status"]
    assert "split is" not in vit["status"] and "parser" not in vit["status"], "a constrained reply needs no parser"
    fine_tuned = evaluate(tmp_path, planner, "heldout", *CONSTRAINED)
    for row in (FINE_TUNED, RLTF):
        status = vit_row(tmp_path, row)["status"]
        assert f"job {fine_tuned} fills no row: training unknown: no job of this database wrote its planner" in status
    evaluate(tmp_path, planner, "all", "--setting", "schema=zero-shot", "--max-tokens", "8")
    vit = vit_row(tmp_path, "openagi-2/Flan-T5-Large-zero-shot")
    assert "other tasks: split is all, not heldout" in vit["status"]
    assert "parser is names, not encoder:FOLDER@-1 or model:URL" in vit["status"]


@pytest.mark.long
def test_tasks_that_were_fitted_on_or_rewarded_fill_no_row(tmp_path, weights):
    first_fit = fit(tmp_path, "small", "scratch", "--preset", "planner")
    small = tmp_path / "small" / "export"
    seen = evaluate(tmp_path, f"local:{small}", "labelled", *CONSTRAINED)
    assert (
        f"job {seen} fills no row: its planner was fitted on 3 of its 3 tasks"
        in vit_row(tmp_path, FINE_TUNED)["status"]
    )
    honest = evaluate(tmp_path, f"local:{small}", "heldout", *CONSTRAINED)
    vit = vit_row(tmp_path, FINE_TUNED)
    assert vit["ours"]["job"] == honest and "other training: fitted on 3 tasks" in vit["status"]
    assert "training unknown" not in vit["status"] and "planner.beams is 1, not 30" in vit["status"]
    evaluate(tmp_path, f"local:{small}", "heldout", "--setting", "schema=few-shot", "--max-tokens", "8")
    other = vit_row(tmp_path, "openagi-1/GPT-4-few-shot")["status"]
    assert "planner is fitted from random weights, not GPT-4" in other and "fitted on 3 tasks" in other

    command = ["train", "rltf", "openagi", "--from", str(small), "--folder", str(tmp_path / "rewarded")]
    command += ["--split", "feedback", "--limit", "3", "--epochs", "2", "--batch", "3", "--beams", "3"]
    run(tmp_path, *command, "--tool", "experts=oracle", "--option", "samples=1", "--reward", "plan_order")
    rewarded = f"local:{tmp_path / 'rewarded' / 'export'}"
    seen = evaluate(tmp_path, rewarded, "feedback", *CONSTRAINED)
    assert f"job {seen} fills no row: its planner was rewarded on 3 of its 3 tasks" in vit_row(tmp_path, RLTF)["status"]
    honest = evaluate(tmp_path, rewarded, "heldout", *CONSTRAINED)
    vit = vit_row(tmp_path, RLTF)
    assert vit["ours"]["job"] == honest
    assert "other training: fitted on 3 and rewarded on 3 tasks" in vit["status"]
    seen = evaluate(tmp_path, rewarded, "labelled", *CONSTRAINED)
    assert vit_row(tmp_path, RLTF)["ours"]["job"] == honest, "the fit before it is part of its training"

    checkpoint = tmp_path / "rewarded" / "steps" / "step-000001"  # the model of the last step is the export
    seen = evaluate(tmp_path, f"local:{checkpoint}", "feedback", "--setting", "schema=prompt-1", "--max-tokens", "8")
    status = vit_row(tmp_path, "openagi-3/GPT-4-prompt-1")["status"]
    assert f"job {seen} fills no row: its planner was rewarded on 3 of its 3 tasks" in status, "a checkpoint"

    copy = tmp_path / "elsewhere"
    shutil.copytree(small, copy)
    evaluate(tmp_path, f"local:{copy}", "heldout", *CONSTRAINED, limit=2)
    assert "other training: fitted on 3 tasks" in vit_row(tmp_path, FINE_TUNED)["status"], "known by its weights"
    (tmp_path / "rows.jsonl").write_text(json.dumps({"prompt": "other", "completion": "rows"}) + "\n")
    status = vit_row(tmp_path, FINE_TUNED)["status"]
    assert f"training unknown: the data of job {first_fit} have changed since it was submitted" in status
