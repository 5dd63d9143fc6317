"""A fit with the released update: a step for each task, whose weight is the mean of the epoch's rewards so far."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean

import pytest

from db.queue.job_changes import pause, resume
from db.queue.training_steps import list_feedback
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.training.recipes.rltf import Rltf
from tests.rltf_jobs import OPENAGI, begin_fit
from tests.tiny_planners import write_planner
from workers.context import WorkerContext
from workers.run import run_slice

RELEASED = {"epochs": 2, "batch": 1, "baseline": "released"}


@pytest.fixture(scope="module")
def planner(tmp_path_factory) -> Path:
    return write_planner(tmp_path_factory.mktemp("planner") / "start")


def test_a_released_fit_continues_in_the_middle_of_an_epoch(planner, tmp_path):
    """`pause` and a new process come between two steps of an epoch: the mean still has the rewards before them."""
    with begin_fit(tmp_path / "home", planner, spec=RELEASED, **(OPENAGI | {"limit": 3})) as fit:
        assert Rltf.from_json(json.loads(json.dumps(fit.recipe.as_json()))).digest == fit.recipe.digest
        process = fit.process
        for step in range(1, 7):
            if step == 3:
                pause(fit.database, fit.job)
                resume(fit.database, fit.job)
                process = WorkerContext(Deployment(fit.settings))
            run_slice(process, fit.job, lambda: 0)
            run_slice(process, fit.rollouts()[-1], lambda: 0)
        run_slice(process, fit.job, lambda: 0)
        if process is not fit.process:
            process.close()
        with fit.database.engine.connect() as connection:
            steps = list_feedback(connection, fit.job)
        losses = [item.output["loss"] for item in fit.items()[1:7]]
        assert fit.row().state == "done"
    rewards = [step["reward"] for step in steps]
    assert len(rewards) == 6 and {step["episodes"] for step in steps} == {1} and set(rewards) <= {-1.0, 1.0}
    assert {step["baseline"] for step in steps} == {0.0}
    weights = [fmean(rewards[3 * (step // 3) : step + 1]) for step in range(6)]
    for loss, weight in zip(losses, weights, strict=True):  # −log P is positive
        assert math.copysign(1, loss) == math.copysign(1, weight) if weight else loss == pytest.approx(0, abs=1e-6)
