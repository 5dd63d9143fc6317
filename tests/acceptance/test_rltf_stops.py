"""A job that learns from rewards and is stopped eighteen times: by six causes, each at three instants of a step.

Its window is one optimizer step: its rollouts, its update, and the time between its checkpoint and the commit.
"""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.acceptance.test_rltf_kills import (
    CALLS,
    DONE,
    FIGURES,
    ROLLOUTS,
    SCORES,
    SEALED,
    UPDATE,
    ask,
    find_place,
    is_due,
    is_equal,
    is_there,
    read_checkpoint,
)
from tests.interrupted_fits import (
    CAUSES,
    CUT_OFF,
    EARLY,
    LATE,
    LOST_LEASE,
    MIDDLE,
    WITHOUT_LOSS,
    InterruptedFit,
    ended_at_exit,
    last_line,
    lumos,
)
from tests.services import wait_until
from tests.tiny_planners import write_planner

STEPS = 20
INSTANTS = {EARLY: ROLLOUTS, MIDDLE: UPDATE, LATE: SEALED}
TABLE = os.environ.get("LUMOS_STOPS_TABLE", "")


@pytest.mark.long
@pytest.mark.timeout(5400)
def test_eighteen_interruptions_change_neither_the_weights_nor_their_rollouts(tmp_path):
    write_planner(tmp_path / "start")

    def train(home: Path) -> subprocess.Popen[str]:
        where = ("--from", str(tmp_path / "start"), "--folder", str(home / "fit"))
        tasks = ("--split", "feedback", "--limit", "8", "--epochs", "10", "--batch", "4", "--samples", "2")
        learning = ("--beams", "5", "--rate", "0.01", "--reward", "plan_set", "--epsilon", "0.8")
        tools = ("--tool", "experts=oracle:", "--option", "samples=1")
        return lumos(home, "train", "rltf", "openagi", *where, *tasks, *learning, *tools)

    undisturbed = tmp_path / "undisturbed"
    whole = last_line(train(undisturbed))
    assert whole["state"] == "done" and len(whole["feedback_steps"]) == STEPS

    fit, results = InterruptedFit(tmp_path / "stopped", train), dict[tuple[str, str], str]()
    with ended_at_exit(fit):
        fit.begin()
        number = 0
        for instant, phase in INSTANTS.items():
            for cause in CAUSES:
                number += 1
                lost, hit = interrupt(fit, number, cause, instant, phase)
                results[cause, instant] = f"{lost} ({hit or 'given back'})"
                print(cause, instant, results[cause, instant], flush=True)
                assert lost == 0 or cause not in WITHOUT_LOSS
        ended = fit.finish()
    write_table(results)
    assert ended["state"] == "done"

    paths = [home / "fit" / "export" / "model.safetensors" for home in (fit.home, undisturbed)]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    for tensors, expected in zip(read_checkpoint(fit.home, STEPS), read_checkpoint(undisturbed, STEPS), strict=True):
        assert is_equal(tensors, expected)
    for query in (FIGURES, SCORES):
        assert ask(fit.home, query) == ask(undisturbed, query) != []
    assert {count for *_, count in ask(fit.home, CALLS)} == {1}


def interrupt(fit: InterruptedFit, number: int, cause: str, instant: str, phase: str) -> tuple[int, str]:
    """Interrupt the job after so many items. Return the steps lost, and where the job was afterwards."""
    due = partial(is_due, fit.process, fit.home, number, phase)
    wait_until(due, f"interruption {number} {phase}", 300, every=0.005)
    fit.job = fit.job or ask(fit.home, "SELECT id FROM job WHERE kind = 'train'")[0][0]
    before, former = fit.read(), fit.process
    fit.apply(cause, instant)
    hit = find_place(fit.home)
    if cause != LOST_LEASE:
        fit.resume()
    wait_until(partial(is_there, fit.home, DONE.format(number + 1)), f"a step after {cause}", 300)
    if cause == CUT_OFF:
        fit.wake(former)
    after = fit.read()
    known = len(before.restarts) if before else 0
    return int(sum(restart["lost"] for restart in after.restarts[known:])) if after else 0, hit


def write_table(results: dict[tuple[str, str], str]) -> None:
    lines = [f"| RLTF | 1 | {cause} | {' | '.join(results[cause, name] for name in INSTANTS)} |" for cause in CAUSES]
    print("\n" + "\n".join(lines))
    if TABLE:
        with Path(TABLE).open("a") as file:
            file.write("\n".join(lines) + "\n")
