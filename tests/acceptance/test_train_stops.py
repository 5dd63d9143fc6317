"""One training job that is stopped eighteen times: by six causes, each early, in the middle and late in a window.

Its weights and its curve are those of a job that was left alone. A process that is asked to stop loses no step.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lumos_queue.prompts.conversations import write_conversations
from tests.interrupted_fits import (
    CAUSES,
    CTRL_C,
    CUT_OFF,
    INSTANTS,
    KILL,
    LOST_LEASE,
    PAUSE,
    TERM,
    WITHOUT_LOSS,
    InterruptedFit,
    Interruption,
    curve,
    ended_at_exit,
    last_line,
    lumos,
    weights,
)
from tests.tiny_fits import conversation
from tests.tiny_llama import make_tiny_llama

WINDOW, STEPS = 90, 180
#: The causes of each of the two windows.
GROUPS = ((TERM, KILL, PAUSE), (CTRL_C, LOST_LEASE, CUT_OFF))
#: Steps of a window at which its three causes interrupt it early, in the middle and late.
POSITIONS = ((4, 9, 14), (24, 29, 34), (42, 47, 52))
CASES = {
    "all weights": ("--preset", "paper", "--rate", "0.001", "--batch", "4", "--precision", "fp32"),
    "adapters": ("--preset", "lora", "--rate", "0.01", "--batch", "4", "--precision", "fp32"),  # with dropout
    "from scratch": ("--batch", "4", "--max-length", "64", "--precision", "bf16"),
}
#: A file to which the tables are appended, with one line for each kind, number of ranks and cause.
TABLE = os.environ.get("LUMOS_STOPS_TABLE", "")


@pytest.mark.long
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("ranks", [1, 2], ids=["one process", "two ranks"])
@pytest.mark.parametrize("case", CASES)
def test_eighteen_interruptions_change_neither_the_weights_nor_the_curve(case, ranks, tmp_path):
    make_tiny_llama(tmp_path / "base")
    (tmp_path / "build" / "dev").mkdir(parents=True)
    write_conversations(map(conversation, range(40)), tmp_path / "build" / "planner_iterative.jsonl")
    write_conversations(map(conversation, range(40, 50)), tmp_path / "build" / "dev" / "planner_iterative.jsonl")
    variables = {"LUMOS_TRAIN_RANKS": str(ranks)}

    def train(home: Path) -> subprocess.Popen[str]:
        start = "scratch" if case == "from scratch" else str(tmp_path / "base")
        where = ("--data", str(tmp_path / "build"), "--from", start, "--folder", str(home / "fit"))
        length = ("--steps", str(STEPS), "--window", str(WINDOW), "--checkpoint-seconds", "2")
        return lumos(home, "train", "sft", *where, *length, *CASES[case], **variables)

    whole = last_line(train(tmp_path / "whole"))
    assert whole["state"] == "done" and len(whole["training_steps"]) == STEPS

    fit, results = InterruptedFit(tmp_path / "stopped", train, variables), list[Interruption]()
    with ended_at_exit(fit):
        fit.begin()
        for number, causes in enumerate(GROUPS):
            for instant, positions in zip(INSTANTS, POSITIONS, strict=True):
                for cause, position in zip(causes, positions, strict=True):
                    results.append(fit.interrupt(cause, instant, number * WINDOW + position))
                    print(results[-1], flush=True)
        ended = fit.finish()
    write_table(case, ranks, results)
    assert ended["state"] == "done"
    assert curve(ended) == curve(whole)
    assert weights(fit.home / "fit" / "export") == weights(tmp_path / "whole" / "fit" / "export") != {}
    for result in results:
        assert result.stored == result.lost
        assert result.continued >= result.checkpoint
        if result.cause in WITHOUT_LOSS:
            assert result.lost == 0, result


def write_table(case: str, ranks: int, results: list[Interruption]) -> None:
    """Print a line for each cause, with the steps lost and the step that was reached at each instant."""
    lines = []
    for cause in CAUSES:
        of_cause = {result.instant: result for result in results if result.cause == cause}
        cells = [f"{of_cause[name].lost} (at {of_cause[name].step})" if name in of_cause else "" for name in INSTANTS]
        lines.append(f"| {case} | {ranks} | {cause} | {' | '.join(cells)} |")
    print("\n" + "\n".join(lines))
    if TABLE:
        with Path(TABLE).open("a") as file:
            file.write("\n".join(lines) + "\n")
