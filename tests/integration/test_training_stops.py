"""Training jobs whose real training process fails: what people are told, and that a resume goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from lumos_queue.errors import DivergedFit, InfrastructureError, SpecError
from lumos_queue.jobs.train import Train, TrainingCrashed, problem_of
from lumos_queue.settings import read_settings
from lumos_queue.submission.database import database
from lumos_queue.submission.store import submit
from lumos_queue.training.recipes.base import TrainedModel, TrainingStep, WindowResult
from lumos_queue.training.recipes.starter import Starter
from tests.integration.test_incomplete import lumos, result  # noqa: F401 - the fixture
from tests.unit.test_training_sft import build, model, recipe  # noqa: F401 - the fixtures

#: The training process, with a recipe whose work is one statement.
CHILD = """
import sys
import lumos_queue.jobs.train_child as child
from lumos_queue.errors import DivergedFit, SpecError
from lumos_queue.training.recipes.base import TrainedModel, TrainingStep, WindowResult

def run_item(recipe, window):
    print("a library says this", end="")
    print("and this", file=sys.stderr, end="")
    {work}

child.run_item = run_item
sys.exit(child.main())
"""
DONE = WindowResult(
    {"fit": "a"},
    (TrainingStep("a", 1, 0.5, 1e-3, float("inf"), 10, 1 << 33),),
    (TrainedModel("a", "/m", "full", "ab", 3, "", ("b",)),),
    "look at it",
)


def train_child(work: str) -> subprocess.CompletedProcess:
    request = {"train": Train(Starter("/d", "/f")).as_json(), "window": {"do": "prepare"}}
    return subprocess.run(
        [sys.executable, "-c", CHILD.format(work=work)], input=json.dumps(request).encode(), capture_output=True
    )


def test_what_the_training_process_says_of_an_item_arrives_whole():
    done = train_child(f"inf = float('inf'); return {DONE!r}")
    assert done.returncode == 0
    assert WindowResult.from_json(json.loads(done.stdout.splitlines()[-1])) == DONE


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        ("raise SpecError('no GPU\\nhere')", SpecError, "no GPU here"),
        ("raise DivergedFit('NaN at step 7')", DivergedFit, "NaN at step 7"),
        ("raise KeyError('x')", TrainingCrashed, "KeyError: 'x'"),
        ("sys.exit(7)", TrainingCrashed, "and this"),
        ("import os; os.kill(os.getpid(), 9)", InfrastructureError, "the training process was killed by signal 9"),
    ],
)
def test_the_end_of_the_training_process_says_which_error_it_was(work, error, message):
    ended = train_child(work)
    found = problem_of(ended.returncode, ended.stderr)
    assert (type(found), str(found)) == (error, message)


def submitted(job: Train) -> str:
    settings = read_settings()
    with database(settings, create=True) as opened:
        return submit(opened, settings, job, None, windows=len(job.windows()))[0]


def test_a_job_that_failed_says_why_and_goes_on_by_a_resume(lumos, build, model, tmp_path, monkeypatch):  # noqa: F811
    job = submitted(Train(recipe(build, model, tmp_path / "fit")))
    rows = build / "planner_iterative.jsonl"
    before = rows.read_bytes()
    rows.write_bytes(before + before)
    why = "item 0: The builds or the model to start from have changed since this job was submitted."
    failed = lumos("resume", job)
    assert failed.code == 3
    told = f"{job} is failed: {why[:-1]}. Once this is fixed, go on with: lumos resume {job}"
    assert told in failed.out and f"{job} waits" not in failed.out
    assert f"failed: {why[:20]}" in lumos("jobs").out
    shown = result(lumos("job", job, "--json"))
    assert (shown["state"], shown["waiting"], shown["items"]) == ("failed", why, {"owed": 4})
    assert " ".join(why.split()) in " ".join(lumos("job", job).out.split())
    report = lumos("report", job, "--json")
    assert report.code == 3
    assert {name: result(report)[name] for name in ("state", "reason", "go_on", "complete")} == {
        "state": "failed", "reason": why, "go_on": f"lumos resume {job}", "complete": False,
    }  # fmt: skip
    rows.write_bytes(before)
    same = lumos("train", "sft", "--data", str(build), "--from", str(model), "--folder", str(tmp_path / "fit"),
                 "--preset", "scratch", "--steps", "6", "--window", "4")  # fmt: skip
    assert same.code == 3 and f"job {job} is the same request and is failed" in same.err and why[:-1] in same.out
    monkeypatch.setenv("LUMOS_BROKER_URL", "redis://127.0.0.1:1/0")
    shown = lumos("train", "sft", "--data", str(build), "--from", str(model), "--folder", str(tmp_path / "fit"),
                  "--preset", "scratch", "--steps", "6", "--window", "4")  # fmt: skip
    assert shown.code == 3 and f"{job} is failed" in shown.err, "no worker is asked to go on with it"
    monkeypatch.delenv("LUMOS_BROKER_URL")
    assert lumos("resume", job).code == 0
    assert result(lumos("job", job, "--json"))["state"] == "done"


@pytest.mark.long
def test_a_crash_that_repeats_fails_the_job(lumos, build, model, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setenv("LUMOS_POLL_SECONDS", "0.2")
    file = tmp_path / "file"
    file.write_text("")
    job = submitted(Train(replace(recipe(build, model, tmp_path / "fit"), folder=str(file / "fit"))))
    failed = lumos("resume", job)
    assert failed.code == 3
    assert "failed: item 0: TrainingCrashed: NotADirectoryError: [Errno 20] Not a directory" in failed.out
