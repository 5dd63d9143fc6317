"""GPUs are asked of torch in a child process: what it says, and what counts as no GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from db.kinds.pools import Gpus
from tests.conftest import ROOT
from tests.pretended_gpus import pretend_gpus, write_torch
from workers import gpus


@pytest.fixture(autouse=True)
def unknown_gpus(monkeypatch) -> None:
    monkeypatch.setattr(gpus, "_answer", bytearray(24))


@pytest.mark.parametrize(
    ("memories", "answer"), [([81_559, 24_000], Gpus(2, 24_000)), ([16_384], Gpus(1, 16_384)), ([], Gpus(0, 0))]
)
def test_the_child_process_tells_how_many_gpus_there_are_and_the_memory_of_the_smallest(
    tmp_path, monkeypatch, memories, answer
):
    monkeypatch.setenv("PYTHONPATH", pretend_gpus(tmp_path / "torch", memories))
    assert gpus.ask_torch(tmp_path) == answer


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("    raise ModuleNotFoundError(\"No module named 'torch'\")", "No module named 'torch'"),
        ("    os._exit(7)", "the process ended with status 7"),
        ("    os.kill(os.getpid(), 9)", "the process ended with status -9"),
        ("    raise RuntimeError('CUDA driver version is insufficient')", "CUDA driver version is insufficient"),
        ("    print('hello'); os._exit(0)", "JSONDecodeError"),
        ("    import time; time.sleep(1000)", "no answer within 1 s"),
    ],
)
def test_a_child_process_that_fails_means_no_gpu_and_the_log_says_why(tmp_path, monkeypatch, caplog, question, reason):
    monkeypatch.setenv("PYTHONPATH", str(write_torch(tmp_path / "torch", question)))
    if "1 s" in reason:
        monkeypatch.setattr(gpus, "SECONDS", 1.0)
    assert gpus.ask_torch(tmp_path) == Gpus(0, 0)
    (line,) = [record.getMessage() for record in caplog.records if record.name == gpus.__name__]
    assert line.startswith("no GPU is used, as asking torch for GPUs failed: ") and reason in line


def test_torch_is_asked_once_and_not_known_before(tmp_path, monkeypatch):
    questions = []
    monkeypatch.setattr(gpus, "ask_torch", lambda folder: questions.append(folder) or Gpus(2, 24_000))
    assert gpus.get_known_gpus() is None
    assert gpus.find_gpus(tmp_path) == gpus.find_gpus(tmp_path) == gpus.get_known_gpus() == Gpus(2, 24_000)
    assert questions == [tmp_path]


def test_a_forked_child_tells_its_parent_and_torch_is_imported_by_neither(tmp_path):
    code = """
import os, sys
from pathlib import Path
from workers import gpus
gpus.share_answer()
if (child := os.fork()) == 0:
    gpus.find_gpus(Path.cwd())
    os._exit("torch" in sys.modules)
assert os.waitpid(child, 0)[1] == 0
print(gpus.get_known_gpus(), "torch" in sys.modules)
"""
    path = os.pathsep.join([pretend_gpus(tmp_path / "torch", [24_000]), str(ROOT)])
    child = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert child.stdout == "Gpus(number=1, mib=24000) False\n"
