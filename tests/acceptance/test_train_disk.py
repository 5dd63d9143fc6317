"""A disk that is full while a training job writes: one line says so, and nothing that was good is lost."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest

from lumos_queue.prompts.conversations import write_conversations
from lumos_queue.training.engine.checkpoints import read_seal, remove_old
from tests.acceptance.test_train import killed_after, last_line, lumos, weights
from tests.faults.disks import small_disk
from tests.tiny_fits import conversation
from tests.tiny_llama import make_tiny_llama


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_tiny_llama(folder / "base")
    (folder / "build" / "dev").mkdir(parents=True)
    write_conversations(map(conversation, range(32)), folder / "build" / "planner_iterative.jsonl")
    write_conversations(map(conversation, range(32, 40)), folder / "build" / "dev" / "planner_iterative.jsonl")
    return folder


def train(made: Path, home: Path, folder: Path):
    options = ("--preset", "paper", "--rate", "0.001", "--batch", "8", "--steps", "6", "--window", "2")
    where = ("--data", str(made / "build"), "--from", str(made / "base"), "--folder", str(folder))
    return lumos(home, "train", "sft", *where, *options)


@pytest.fixture(scope="module")
def undisturbed(made, tmp_path_factory) -> list[str]:
    home = tmp_path_factory.mktemp("whole")
    assert last_line(train(made, home, home / "fit"))["state"] == "done"
    return weights(home / "fit" / "export")


@pytest.mark.long
@pytest.mark.parametrize("after", [2, 6], ids=["a checkpoint", "the export"])
def test_a_disk_that_is_full_fails_the_job_with_one_line_and_it_goes_on(made, undisturbed, tmp_path, after):
    with small_disk(megabytes=24) as disk:
        fit, home, good = disk / "fit", tmp_path / "home", f"step-{after:06d}"
        killed_after(train(made, home, fit), fit / "fit" / good)
        remove_old(fit / "fit")  # or the resumed job does it, and has room again
        filler = disk / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"\0" * 4096)

        job = last_line(lumos(home, "jobs"))["jobs"][0]["job"]
        stopped = lumos(home, "resume", job)
        output, problems = stopped.communicate(timeout=300)
        report = json.loads(output.splitlines()[-1])
        assert (stopped.returncode, report["state"]) == (3, "failed"), problems
        assert f"The disk of '{fit}' is full: make room there." in report["waiting"]
        assert read_seal(fit / "fit" / good)["step"] == after
        assert not list((fit / "fit").glob("checkpoint-*"))

        filler.unlink()
        assert last_line(lumos(home, "resume", job))["state"] == "done"
        assert weights(fit / "export") == undisturbed
