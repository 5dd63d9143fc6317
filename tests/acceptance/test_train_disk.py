"""A disk that is full or read-only while a training job writes: the job fails with one line and keeps checkpoints."""

from __future__ import annotations

import json
import subprocess
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from lumos_queue.prompts.conversations import write_conversations
from lumos_queue.training.engine.checkpoints import read_seal, remove_old
from tests.acceptance.test_train import killed_after, last_line, lumos, weights
from tests.faults.disks import small_disk
from tests.services import wait_until
from tests.tiny_fits import conversation
from tests.tiny_llama import make_tiny_llama

RANKS = "LUMOS_TRAIN_RANKS"  #: the number of processes that share a window


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    make_tiny_llama(folder / "base")
    (folder / "build" / "dev").mkdir(parents=True)
    write_conversations(map(conversation, range(32)), folder / "build" / "planner_iterative.jsonl")
    write_conversations(map(conversation, range(32, 40)), folder / "build" / "dev" / "planner_iterative.jsonl")
    return folder


def train(made: Path, home: Path, folder: Path, window: int = 2):
    options = ("--preset", "paper", "--rate", "0.001", "--batch", "8", "--steps", "6", "--window", str(window))
    where = ("--data", str(made / "build"), "--from", str(made / "base"), "--folder", str(folder))
    return lumos(home, "train", "sft", *where, *options, "--checkpoint-seconds", "0")


def fill(filler: Path) -> None:
    """Fill the disk of a file."""
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)


def make_read_only(disk: Path) -> None:
    """Mount the disk read-only as soon as no file on it is open for writing."""
    command = ["mount", "-o", "remount,ro", str(disk)]
    wait_until(lambda: subprocess.run(command, capture_output=True).returncode == 0, "a read-only disk", every=0.01)


@pytest.fixture(scope="module")
def undisturbed(made, tmp_path_factory) -> list[str]:
    return undisturbed_weights(made, tmp_path_factory.mktemp("whole"))


def undisturbed_weights(made: Path, home: Path) -> list[str]:
    assert last_line(train(made, home, home / "fit"))["state"] == "done"
    return weights(home / "fit" / "export")


@pytest.fixture(scope="module", params=[1, 2], ids=["one process", "two ranks"])
def undisturbed_ranks(request, made, tmp_path_factory) -> tuple[str, list[str]]:
    """The number of processes of a fit, and its weights."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RANKS, str(request.param))
        return str(request.param), undisturbed_weights(made, tmp_path_factory.mktemp("whole"))


@pytest.mark.long
@pytest.mark.parametrize("after", [2, 6], ids=["a checkpoint", "the export"])
def test_a_disk_that_is_full_fails_the_job_with_one_line_and_it_goes_on(made, undisturbed, tmp_path, after):
    with small_disk(megabytes=24) as disk:
        fit, home, good = disk / "fit", tmp_path / "home", f"step-{after:06d}"
        killed_after(train(made, home, fit), fit / "fit" / good)
        remove_old(fit / "fit")  # or the resumed job does it, and has room again
        filler = disk / "filler"
        fill(filler)

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


def has_checkpoint(process: subprocess.Popen, fit: Path) -> bool:
    assert process.poll() is None, process.communicate()
    return any(fit.glob("step-*"))


@pytest.mark.long
@pytest.mark.parametrize("fault", ["full", "read-only"])
def test_a_disk_that_fails_within_a_window_fails_the_job_with_one_line_and_it_goes_on(
    made, undisturbed_ranks, tmp_path, fault, monkeypatch
):
    ranks, whole = undisturbed_ranks
    monkeypatch.setenv(RANKS, ranks)
    with small_disk(megabytes=24) as disk:
        fit, home = disk / "fit", tmp_path / "home"
        stopped = train(made, home, fit, window=6)
        wait_until(partial(has_checkpoint, stopped, fit / "fit"), "a checkpoint within the window", 300, every=0.01)
        if fault == "full":
            fill(disk / "filler")
        else:
            make_read_only(disk)
        output, problems = stopped.communicate(timeout=300)
        report = json.loads(output.splitlines()[-1])
        assert (stopped.returncode, report["state"]) == (3, "failed"), problems
        why = {"full": "is full: make room there.", "read-only": "(Read-only file system): make it writable."}
        assert f"'{fit}" in report["waiting"] and why[fault] in report["waiting"]
        assert "Traceback" not in problems
        good = sorted((fit / "fit").glob("step-*"))
        assert good and all(read_seal(checkpoint) for checkpoint in good)

        if fault == "full":
            (disk / "filler").unlink()
        else:
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        job = last_line(lumos(home, "jobs"))["jobs"][0]["job"]
        ended = last_line(lumos(home, "resume", job))
        assert ended["state"] == "done"
        assert weights(fit / "export") == whole
