"""The fit of an expert: what it reports, and that it continues with the same weights after a stop, a kill or damage."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lumos_queue.errors import DivergedFit, FitInterrupted, SpecError
from lumos_queue.experts.backends.own.config import CONFIG, WEIGHTS
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.jobs.train_channel import TrainChannel
from lumos_queue.records import FitPhase, TrainingStep
from lumos_queue.training.engine import checkpoint_clock
from lumos_queue.training.engine.checkpoint_clock import MAX_SHARE, CheckpointClock
from lumos_queue.training.engine.control import FitControl
from lumos_queue.training.engine.progress import SILENT, STOP, Reporter
from lumos_queue.training.recipes.base import WindowResult
from lumos_queue.training.recipes.experts import Experts, digest_of_code, experts, is_equal_code
from tests.forked_commands import Forked

if TYPE_CHECKING:
    from lumos_queue.training.experts.fit import ExpertFit

READING, RESTORING = "Sentiment Analysis", "Image Denoising"
STEPS = 24  #: measured after the steps 16, 20 and 24
SAMPLES = 4  #: of the split `dev`, instead of 60
#: `digest_of_code()` of commit 91248b16: of `git archive 91248b16 lumos_queue`.
FORMER_CODE = "854651d3ed4136f58d7f685ca88cef3011baf5e03abb321bffa9dd133d5ba55e"


class StoppingReporter(Reporter):
    """Asks for a stop after a step, with the file that a worker writes."""

    def __init__(self, folder: Path, stop_step: int):
        super().__init__(folder)
        self.stop_step = stop_step
        self.start_step: int | None = None

    def report_step(self, step: TrainingStep, **changes: object) -> None:
        super().report_step(step, **changes)
        if self.start_step is None:
            self.start_step = self.progress.start_step
        if step.step == self.stop_step:
            (self.folder or Path()).joinpath(STOP).touch()


class KillingReporter(Reporter):
    """Kills its process after a step."""

    def report_step(self, step: TrainingStep, **changes: object) -> None:
        if step.step == 18:
            os.kill(os.getpid(), signal.SIGKILL)


def recipe_of(folder: Path, expert: str = READING, seconds: float = 60.0) -> Experts:
    control = FitControl(checkpoint_seconds=seconds)
    return experts(folder, [EXPERTS[expert].option], "released", STEPS, 3, control)


def train(recipe: Experts, reporter: Reporter = SILENT) -> WindowResult:
    from lumos_queue.training.experts.work import run_item

    return run_item(recipe, recipe.windows()[0], reporter)


def stop(recipe: Experts, channel: Path, step: int) -> int | None:
    """Train until after a step. Return the step after which the process had continued."""
    channel.mkdir()
    reporter = StoppingReporter(channel, step)
    with pytest.raises(FitInterrupted, match=f"stopped after step {step}, with a checkpoint"):
        train(recipe, reporter)
    return reporter.start_step


def files_of(folder: Path, expert: str = READING) -> tuple[bytes, bytes]:
    """Return the content of the weights and of the config."""
    target = folder / EXPERTS[expert].option
    return (target / WEIGHTS).read_bytes(), (target / CONFIG).read_bytes()


def figures_of(result: WindowResult) -> list[TrainingStep]:
    return [replace(step, memory=0) for step in result.steps]


@pytest.fixture(scope="module", autouse=True)
def few_samples() -> Iterator[None]:
    from lumos_queue.training.experts import dev

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dev, "SAMPLES", SAMPLES)
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[Path, WindowResult]:
    """A folder with the expert, and the result of its item."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, train(recipe_of(folder))


@pytest.mark.parametrize("stops", [[1], [16], [18, 21], [24]], ids=str)
def test_an_expert_that_was_stopped_has_the_same_files_and_the_same_steps(undisturbed, tmp_path, stops):
    """Step 16 is stopped before its weights are measured, step 21 has best weights, step 24 is the last."""
    recipe = recipe_of(tmp_path / "experts")
    starts = [stop(recipe, tmp_path / str(step), step) for step in stops]
    assert starts == [0, *stops[:-1]]
    result = train(recipe)
    folder, expected = undisturbed
    assert files_of(tmp_path / "experts") == files_of(folder)
    assert figures_of(result) == figures_of(expected)
    assert [step.step for step in result.steps] == list(range(1, STEPS + 1))
    assert [path.name for path in (tmp_path / "experts").iterdir()] == [EXPERTS[READING].option]


def test_an_expert_of_pictures_that_was_stopped_has_the_same_files(tmp_path):
    train(recipe_of(tmp_path / "undisturbed", RESTORING))
    recipe = recipe_of(tmp_path / "experts", RESTORING)
    stop(recipe, tmp_path / "channel", 17)
    train(recipe)
    assert files_of(tmp_path / "experts", RESTORING) == files_of(tmp_path / "undisturbed", RESTORING)


def train_until_killed(folder: Path) -> int:
    from lumos_queue.training.experts import dev

    dev.SAMPLES = SAMPLES
    train(recipe_of(folder, seconds=0.0), KillingReporter())
    return 0


def test_an_expert_whose_process_was_killed_continues_at_its_newest_checkpoint(undisturbed, tmp_path):
    folder = tmp_path / "experts"
    assert Forked(train_until_killed, folder).wait() == -signal.SIGKILL
    (tmp_path / "channel").mkdir()
    reporter = StoppingReporter(tmp_path / "channel", 0)
    train(recipe_of(folder), reporter)
    assert reporter.start_step and files_of(folder) == files_of(undisturbed[0])


@pytest.mark.parametrize("file", ["state.safetensors", "best.safetensors", "seal.json"])
def test_a_damaged_checkpoint_is_named_and_its_steps_are_done_again(undisturbed, tmp_path, file):
    folder = tmp_path / "experts"
    recipe = recipe_of(folder)
    for step in (3, 22):
        stop(recipe, tmp_path / str(step), step)
    path = next(folder.glob(".*.fit/step-000022")) / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 8
    path.write_bytes(data if file != "seal.json" else b"{")
    assert stop(recipe, tmp_path / "5", 5) == 3
    result = train(recipe)
    assert "notes" not in result.output
    assert files_of(folder) == files_of(undisturbed[0])


def stop_and_damage(recipe: Experts, channels: Path) -> None:
    """Stop the fit twice, and damage both checkpoints."""
    for step in (17, 18):
        stop(recipe, channels / str(step), step)
    paths = list(Path(recipe.folder).glob(".*.fit/step-*/state.safetensors"))
    assert len(paths) == 2
    for path in paths:
        path.write_bytes(path.read_bytes()[:-1])


def test_without_an_undamaged_checkpoint_all_steps_are_done_again(undisturbed, tmp_path):
    folder = tmp_path / "experts"
    stop_and_damage(recipe_of(folder), tmp_path)
    result = train(recipe_of(folder))
    *problems, continuation = result.output["notes"]
    assert all(f"step-0000{step}' is damaged" in text for step, text in zip((18, 17), problems, strict=True))
    assert continuation == "Its steps are done again from step 0."
    assert files_of(folder) == files_of(undisturbed[0])


def test_a_new_checkpoint_is_kept_instead_of_damaged_ones_of_later_steps(tmp_path):
    recipe = recipe_of(tmp_path / "experts")
    stop_and_damage(recipe, tmp_path)
    assert [stop(recipe, tmp_path / str(step), step) for step in (5, 6)] == [0, 5]


def test_a_checkpoint_of_another_seed_is_not_used(undisturbed, tmp_path):
    folder = tmp_path / "experts"
    stop(replace(recipe_of(folder), seed=4), tmp_path / "channel", 17)
    result = train(recipe_of(folder))
    assert "is of another fit" in result.output["notes"][0]
    assert files_of(folder) == files_of(undisturbed[0])


def test_an_expert_that_another_process_completed_meanwhile_stays(undisturbed, tmp_path):
    folder = tmp_path / "experts"

    class Meanwhile(Reporter):
        def report_step(self, step: TrainingStep, **changes: object) -> None:
            if step.step == STEPS:
                target = folder / EXPERTS[READING].option
                target.mkdir()
                for name, content in zip((WEIGHTS, CONFIG), files_of(undisturbed[0]), strict=True):
                    (target / name).write_bytes(content)

    train(recipe_of(folder), Meanwhile())
    assert [path.name for path in folder.iterdir()] == [EXPERTS[READING].option]


def test_the_worker_receives_each_step_and_each_phase(tmp_path):
    reports: list[dict] = []

    async def watch() -> WindowResult:
        with TrainChannel(reports.append, 1.0) as channel:
            reporter = Reporter(channel.folder)
            return await asyncio.to_thread(train, recipe_of(tmp_path / "experts", seconds=0.0), reporter)

    result = asyncio.run(watch())
    states = [report["progress"] for report in reports]
    assert {state["fit"] for state in states} == {READING} and {state["steps"] for state in states} == {STEPS}
    steps = [(state["step"], state["loss"], state["rate"], state["grad_norm"]) for state in states if state["loss"]]
    assert sorted(set(steps)) == [(step.step, step.loss, step.rate, step.grad_norm) for step in result.steps]
    phases = [state["phase"] for state in states]
    assert phases[0] == FitPhase.LOADING and phases[-1] == FitPhase.EXPORTING
    assert [state["step"] for state in states if state["phase"] == FitPhase.EVALUATING] == [16, 20, 24]
    assert states[0]["start_step"] == 0 and states[-1]["checkpoint_step"] > 0
    assert all(state["tokens_per_second"] is None for state in states), "pictures and words have no tokens"
    assert all(state["memory"] > 1e6 for state in states if state["loss"])
    assert states[1]["checkpoint_seconds"] == 0.0 < states[-1]["checkpoint_seconds"]


def test_a_job_of_the_version_before_checkpoints_continues(undisturbed, tmp_path):
    folder = tmp_path / "experts"
    recipe = replace(recipe_of(folder), content=FORMER_CODE)
    train(recipe)
    weights, config = files_of(folder)
    assert weights == files_of(undisturbed[0])[0]
    assert json.loads(config)["training"]["request"]["code"] == FORMER_CODE
    assert train(recipe).output["bytes"] == len(weights), "it is trained"
    assert recipe_of(folder).is_trained(READING), "by equal code"
    assert replace(recipe_of(undisturbed[0]), content=FORMER_CODE).is_trained(READING)


def test_a_job_of_other_code_is_refused(undisturbed, tmp_path):
    assert is_equal_code(digest_of_code()) and is_equal_code(FORMER_CODE)
    other = replace(recipe_of(tmp_path / "experts"), content="0" + FORMER_CODE[1:])
    with pytest.raises(SpecError, match="The code that trains experts has changed"):
        train(other)
    with pytest.raises(SpecError, match="was trained in another way"):
        replace(other, folder=str(undisturbed[0])).is_trained(READING)
    assert not (tmp_path / "experts").exists()


def test_random_numbers_of_torch_continue_with_a_fit(tmp_path):
    """No lesson draws them so far. A network with dropout does."""
    fit = make_fit(0.5)
    fit.do_step()
    save(fit, tmp_path)
    fit.do_step()
    continued = restore(tmp_path)
    continued.do_step()
    assert [step.loss for step in continued.steps_done] == [step.loss for step in fit.steps_done]


def test_a_fit_that_continues_keeps_its_best_weights(tmp_path):
    from lumos_queue.training.experts.dev import DevFigure

    good, poor = (DevFigure("", "right", 0.1, score, SAMPLES) for score in (0.9, 0.4))
    fit = make_fit(0.5)
    fit.do_step()
    fit.note_score(b"good", [good, poor])
    fit.do_step()
    save(fit, tmp_path)
    continued = restore(tmp_path)
    assert continued.best == fit.best
    continued.note_score(b"poor", [poor, poor])
    assert continued.best and (continued.best.weights, continued.best.step) == (b"good", 1)
    continued.note_score(b"as good", [poor, good])
    assert continued.best and (continued.best.weights, continued.best.step) == (b"as good", 2)


def save(fit: ExpertFit, folder: Path) -> None:
    from lumos_queue.training.experts.checkpoint import write_checkpoint

    write_checkpoint(fit, folder, {"spec": "a", "seconds": 1.0})


def restore(folder: Path) -> ExpertFit:
    """Return a new fit with the state of the newest checkpoint."""
    from lumos_queue.training.engine.checkpoints import newest_usable
    from lumos_queue.training.experts.checkpoint import restore_fit

    fit = make_fit(0.5)
    checkpoint = newest_usable(folder, "a", STEPS)
    assert checkpoint.path
    restore_fit(fit, checkpoint.path, checkpoint.seal)
    return fit


def test_a_fit_whose_loss_is_not_a_number_ends_before_its_weights_change():
    fit = make_fit(0.5, factor=float("nan"))
    with pytest.raises(DivergedFit, match="step 1: the loss is nan"):
        fit.do_step()
    assert not fit.steps_done and all(parameter.isfinite().all() for parameter in fit.network.parameters())


def make_fit(dropout: float, factor: float = 1.0) -> ExpertFit:
    """Return a fit with a network of two layers that learns to return 1."""
    import torch

    from lumos_queue.training.experts.fit import ExpertFit
    from lumos_queue.training.experts.lesson import Chance, Lesson

    torch.manual_seed(7)
    network = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Dropout(dropout), torch.nn.Linear(32, 1))

    def loss(chance: Chance) -> torch.Tensor:
        inputs = torch.tensor(chance.random((8, 4)), dtype=torch.float32)
        return (network(inputs) - 1).square().mean() * factor

    return ExpertFit("a", Lesson(network, {}, loss, {}), STEPS, 0)


def test_checkpoints_take_at_most_their_share_of_the_time(monkeypatch):
    now = 0.0
    monkeypatch.setattr(checkpoint_clock.time, "monotonic", lambda: now)
    clock = CheckpointClock(60.0)
    now = 100.0
    clock.start()
    now = 159.0
    assert not clock.is_due()
    now = 160.0
    assert clock.is_due()
    clock.begin_checkpoint()
    now = 162.0
    clock.end_checkpoint()
    assert clock.interval == 60.0, "2 seconds are less than the share of 60"
    now = 222.0
    assert clock.is_due()
    clock.begin_checkpoint()
    now = 228.0
    clock.end_checkpoint()
    assert clock.interval == 6 / MAX_SHARE == 120.0
    now = 347.0
    assert not clock.is_due()
