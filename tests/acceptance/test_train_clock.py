"""The clock of the machine is set back by an hour while a job trains: it loses no step, and its weights are equal."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from lumos_queue.prompts.conversations import write_conversations
from tests.interrupted_fits import (
    InterruptedFit,
    curve,
    ended_at_exit,
    has_own_step,
    last_line,
    lumos,
    wait_for_end,
    weights,
)
from tests.services import skip_test
from tests.tiny_fits import conversation
from tests.tiny_llama import make_tiny_llama

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))


@pytest.mark.long
def test_a_clock_that_is_set_back_loses_no_step(tmp_path):
    if not LIBRARIES:
        skip_test("libfaketime is not installed: apt-get install faketime")
    make_tiny_llama(tmp_path / "base")
    (tmp_path / "build").mkdir()
    write_conversations(map(conversation, range(40)), tmp_path / "build" / "planner_iterative.jsonl")
    clock = tmp_path / "clock"
    clock.write_text("+0")
    variables = {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }

    def train(home: Path) -> subprocess.Popen[str]:
        where = ("--data", str(tmp_path / "build"), "--from", str(tmp_path / "base"), "--folder", str(home / "fit"))
        options = ("--preset", "paper", "--rate", "0.001", "--batch", "4", "--precision", "fp32")
        length = ("--steps", "60", "--window", "30", "--checkpoint-seconds", "0")
        return lumos(home, "train", "sft", *where, *options, *length, **(variables if home == fit.home else {}))

    fit = InterruptedFit(tmp_path / "set back", train, variables)
    whole = last_line(train(tmp_path / "whole"))
    with ended_at_exit(fit):
        fit.begin()
        fit.wait(lambda progress: has_own_step(progress) and progress.step >= 5, "step 5")
        clock.write_text("-3600")
        progress = fit.wait(lambda progress: progress.step >= 15 and progress.checkpoint_step > 5, "step 15")
        assert progress.restarts == ()
        os.killpg(fit.process.pid, signal.SIGKILL)
        wait_for_end(fit.process)
        fit.job = fit.ask("SELECT id FROM job")[0][0]
        fit.variables = {}  # the clock is right again
        fit.resume()
        ended = fit.finish()
    assert ended["state"] == "done"
    progress = fit.read()
    assert progress is not None and [restart["step"] > 5 for restart in progress.restarts] == [True]
    assert curve(ended) == curve(whole)
    assert weights(fit.home / "fit" / "export") == weights(tmp_path / "whole" / "fit" / "export") != {}
