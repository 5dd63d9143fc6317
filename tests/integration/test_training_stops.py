"""Training jobs whose training process fails: what people are told, and that a resume goes on."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from lumos_queue.deployment.database import database
from lumos_queue.errors import DivergedFit, InfrastructureError, SpecError
from lumos_queue.jobs import train_child
from lumos_queue.jobs.fork_server import fork_server
from lumos_queue.jobs.train import Train, TrainingCrashed, problem_of
from lumos_queue.prompts.conversations import Conversation, write_conversations
from lumos_queue.prompts.dialogue import Turn
from lumos_queue.settings import read_settings
from lumos_queue.submission.store import submit
from lumos_queue.training.recipes.base import TrainedModel, TrainingStep, WindowResult
from lumos_queue.training.recipes.sft import sft
from lumos_queue.training.recipes.starter import Starter
from tests.forked_commands import Forked

DONE = WindowResult(
    {"fit": "a"},
    (TrainingStep("a", 1, 0.5, 1e-3, float("inf"), 10, 1 << 33),),
    (TrainedModel("a", "/m", "full", "ab", 3, "", ("b",)),),
    "look at it",
)
OPTIONS = ("--precision", "fp32", "--preset", "scratch", "--steps", "4", "--window", "4")


def succeed() -> WindowResult:
    return DONE


def refuse() -> None:
    raise SpecError("no GPU\nhere")


def diverge() -> None:
    raise DivergedFit("NaN at step 7")


def fail() -> None:
    raise KeyError("x")


def leave() -> None:
    sys.exit(7)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def run_child(work) -> int:
    """The training process, with a recipe whose work is a function."""

    def run_item(recipe, window, reporter):
        print("a library says this", end="")
        print("and this", file=sys.stderr, end="")
        return work()

    train_child.run_item = run_item
    sys.stdin = io.StringIO(json.dumps({"train": Train(Starter("/d", "/f")).as_json(), "window": {"do": "prepare"}}))
    return train_child.main()


def test_what_the_training_process_says_of_an_item_arrives_whole():
    process = Forked(run_child, succeed)
    assert process.wait() == 0
    assert WindowResult.from_json(json.loads(process.out.splitlines()[-1])) == DONE


@pytest.mark.parametrize(
    ("work", "error", "message"),
    [
        (refuse, SpecError, "no GPU here"),
        (diverge, DivergedFit, "NaN at step 7"),
        (fail, TrainingCrashed, "KeyError: 'x'"),
        (leave, TrainingCrashed, "and this"),
        (die, InfrastructureError, "the training process was killed by signal 9"),
    ],
)
def test_the_end_of_the_training_process_says_which_error_it_was(work, error, message):
    process = Forked(run_child, work)
    code = process.wait()
    problem = problem_of(code, process.err.encode())
    assert (type(problem), str(problem)) == (error, message)


def write_model(folder: Path) -> Path:
    """Random weights and their tokenizer."""
    from lumos_queue.training.engine.export import save_model
    from lumos_queue.training.engine.model import make_model
    from lumos_queue.training.engine.spec import ModelShape
    from lumos_queue.training.tokenizer import train_tokenizer

    tokenizer = train_tokenizer((conversation(number).text() for number in range(60)), 300, ["<|user|>\n"])
    shape = ModelShape(hidden=32, layers=2, heads=2, feed_forward=48, positions=64)
    save_model(make_model(shape, tokenizer, 3), tokenizer, folder)
    return folder


def conversation(number: int) -> Conversation:
    turns = (Turn("user", f"Add {number} and {number + 1}."), Turn("assistant", f"It is {number}."))
    return Conversation("sums/iterative/planner", f"sums/{number}", turns)


def write_build(folder: Path) -> Path:
    rows = [conversation(number) for number in range(40)]
    (folder / "dev").mkdir(parents=True)
    write_conversations(rows[:30], folder / "planner_iterative.jsonl")
    write_conversations(rows[:20], folder / "grounder_iterative.jsonl")
    write_conversations(rows[30:], folder / "dev" / "planner_iterative.jsonl")
    return folder


def submitted(build: Path, model: Path, folder: Path) -> str:
    settings = read_settings()
    job = Train(sft([build], str(model), folder, "iterative", preset="scratch", steps=4, window=4, precision="fp32"))
    with database(settings, create=True) as opened:
        return submit(opened, settings, job, None, windows=len(job.windows()))[0]


@pytest.fixture
def forked_items(monkeypatch) -> None:
    """Items run in forks of one process: each new interpreter takes five seconds of CPU time to import torch."""
    monkeypatch.setattr("lumos_queue.jobs.train._run_new", fork_server().run)


def test_a_job_that_failed_says_why_and_goes_on_by_a_resume(lumos, forked_items, tmp_path, monkeypatch):
    build, model = write_build(tmp_path / "build"), write_model(tmp_path / "model")
    job = submitted(build, model, tmp_path / "fit")
    rows = build / "planner_iterative.jsonl"
    before = rows.read_bytes()
    rows.write_bytes(before + before)
    why = "item 0: The builds or the model to start from have changed since this job was submitted."
    failed = lumos("resume", job)
    assert failed.code == 3
    told = f"{job} is failed: {why[:-1]}. Once this is fixed, continue with: lumos resume {job}"
    assert told in " ".join(failed.out.split()) and f"{job} waits" not in failed.out
    lumos.set(COLUMNS=140)
    assert f"failed: {why[:20]}" in lumos("jobs").out
    lumos.set(COLUMNS=80)
    shown = lumos("job", job, "--json").json
    assert (shown["state"], shown["waiting"], shown["items"]) == ("failed", why, {"owed": 3})
    assert " ".join(why.split()) in " ".join(lumos("job", job).out.split())
    report = lumos("report", job, "--json")
    assert report.code == 3
    assert {name: json.loads(report.out)[name] for name in ("state", "reason", "go_on", "complete")} == {
        "state": "failed",
        "reason": why,
        "go_on": f"lumos resume {job}",
        "complete": False,
    }
    rows.write_bytes(before)
    request = ("train", "sft", "--data", build, "--from", model, "--folder", tmp_path / "fit", *OPTIONS)
    same = lumos(*request)
    assert same.code == 3 and f"job {job} is the same request and is failed" in same.err
    assert why[:-1] in " ".join(same.out.split())
    lumos.set(LUMOS_BROKER_URL="redis://127.0.0.1:1/0")
    shown = lumos(*request)
    assert shown.code == 3 and f"{job} is failed" in shown.err, "no worker is asked to go on with it"
    monkeypatch.delenv("LUMOS_BROKER_URL")
    assert lumos("resume", job).code == 0
    assert lumos("job", job, "--json").json["state"] == "done"


@pytest.mark.long
def test_a_crash_that_repeats_fails_the_job(lumos, tmp_path):
    lumos.set(LUMOS_POLL_SECONDS=0.2)
    file = tmp_path / "file"
    file.write_text("")
    job = submitted(write_build(tmp_path / "build"), write_model(tmp_path / "model"), file / "fit")
    failed = lumos("resume", job)
    assert failed.code == 3
    assert "failed: item 0: TrainingCrashed: NotADirectoryError: [Errno 20] Not a directory" in failed.out
