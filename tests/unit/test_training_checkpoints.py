"""Checkpoints within a window, development losses, the early end of a fit, and the weights that are exported."""

from __future__ import annotations

import json
import math
import os
import shutil
import socket
import threading
import time
from pathlib import Path

import pytest

from lumos_queue.errors import DivergedFit, FitInterrupted, SpecError
from lumos_queue.records import FitPhase, FitProgress
from lumos_queue.training.engine.checkpoints import SEAL, checkpoint_of, partial_folder_of, read_seal, remove_old
from lumos_queue.training.engine.control import AUTO, BEST, LAST
from lumos_queue.training.engine.dev_record import DevRecord
from lumos_queue.training.engine.kept import choose_checkpoint
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.progress import PIPE, STOP, Reporter
from tests.tiny_fits import own_tokenizer, small_spec, write_fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The data of a fit from random weights: 15 optimizer steps, five an epoch."""
    folder = tmp_path_factory.mktemp("data")
    write_fit(folder, own_tokenizer())
    return folder


class Stopper(Reporter):
    """A reporter that requests a stop after one step, and keeps what is reported."""

    def __init__(self, step: int = 0):
        super().__init__()
        self.stop_step, self.reports = step, []

    def is_stop_requested(self) -> bool:
        return self.progress.step + 1 == self.stop_step  # it is asked before the step is reported

    def _send(self, values):
        self.reports.append((self.progress, "tokens" in values))


def weights(checkpoint: Path) -> bytes:
    return (checkpoint / "model.safetensors").read_bytes()


def steps_of(folder: Path) -> list[int]:
    return sorted(int(path.name.removeprefix("step-")) for path in folder.glob("step-*"))


@pytest.mark.parametrize("stops", [(2, 7, 13), (5, 6, 10)])
def test_a_window_that_is_stopped_continues_at_its_step_with_the_same_weights(stops, folder, tmp_path):
    """Also at the end of an epoch, and twice in one window."""
    from lumos_queue.training.engine.window import run_window

    spec, plan = small_spec(folder), WindowPlan(0, 15, steps=15, window=15)
    whole = run_window(spec, tmp_path / "whole", plan)
    for stop in stops:
        with pytest.raises(FitInterrupted, match=f"stopped after step {stop}, with a checkpoint"):
            run_window(spec, tmp_path / "parts", plan, reporter=Stopper(stop))
        assert steps_of(tmp_path / "parts")[-1] == stop
        assert not list((tmp_path / "parts").glob("partial-*"))
    seen = Stopper()
    parts = run_window(spec, tmp_path / "parts", plan, reporter=seen)
    assert weights(parts.checkpoint) == weights(whole.checkpoint)
    figures = [[(step.step, step.loss, step.grad_norm) for step in done.steps] for done in (parts, whole)]
    assert figures[0] == figures[1] and len(figures[0]) == 15
    assert parts.dev == whole.dev
    assert [progress.step for progress, is_step in seen.reports if is_step and progress.phase == "training"] == list(
        range(stops[-1] + 1, 16)
    )
    assert {progress.start_step for progress, _ in seen.reports[1:]} == {stops[-1]}


def test_a_damaged_checkpoint_within_a_window_costs_only_its_steps(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec, plan = small_spec(folder), WindowPlan(0, 15, steps=15, window=15)
    whole = run_window(spec, tmp_path / "whole", plan)
    for stop in (4, 9):
        with pytest.raises(FitInterrupted):
            run_window(spec, tmp_path / "parts", plan, reporter=Stopper(stop))
    damaged = checkpoint_of(tmp_path / "parts", 9) / "optimizer.pt"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    seen = Stopper()
    parts = run_window(spec, tmp_path / "parts", plan, reporter=seen)
    assert [progress.step for progress, is_step in seen.reports if is_step and progress.phase == "training"] == list(
        range(5, 16)
    )
    assert weights(parts.checkpoint) == weights(whole.checkpoint)
    assert "optimizer.pt is not as it was written" in parts.notes[0] and "from step 4" in parts.notes[1]


def test_checkpoints_are_written_in_time_and_few_are_kept(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    seen = Stopper()
    plan = WindowPlan(0, 15, steps=15, window=15, checkpoint_seconds=0.0)
    run_window(small_spec(folder), tmp_path, plan, reporter=seen)
    saved = [progress.checkpoint_step for progress, _ in seen.reports]
    assert saved[-1] == 15 and len(set(saved)) >= 3, "the first step takes longer than the interval"
    assert seen.progress.checkpoint_seconds > 0, "checkpoints take at most a twentieth of the time"
    assert len(steps_of(tmp_path)) <= 3


def test_a_fit_is_evaluated_at_its_own_interval_and_the_best_checkpoint_stays(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder, rate=0.3, other_rate=0.06, decay=0.1, steps=40)  # the loss rises again
    done = [
        run_window(spec, tmp_path, WindowPlan(start, start + 10, 40, 10, eval_every=4)) for start in range(0, 40, 10)
    ]
    assert [[step for step, _ in window.dev.evaluations] for window in done] == [
        [4, 8],
        [12, 16, 20],
        [24, 28],
        [32, 36, 40],
    ]
    losses = dict(pair for window in done for pair in window.dev.evaluations)
    best = min(losses, key=losses.__getitem__)
    assert done[-1].dev.best == (best, losses[best]) and best < 40
    assert steps_of(tmp_path) == sorted({best, 40, *steps_of(tmp_path)[-2:]})
    kept = choose_checkpoint(spec, tmp_path, AUTO, 40)
    assert (kept.step, kept.keep, kept.dev_loss) == (best, BEST, losses[best])
    assert choose_checkpoint(spec, tmp_path, LAST, 40).step == 40
    alone = run_window(spec, tmp_path / "alone", WindowPlan(0, best, 40))
    assert weights(kept.checkpoint) == weights(alone.checkpoint), "the evaluations change nothing"
    damaged = checkpoint_of(tmp_path, best) / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    kept = choose_checkpoint(spec, tmp_path, BEST, 40)
    assert kept.step == 40 and "instead of the best ones" in kept.note and "is damaged" in kept.note


def test_a_fit_ends_after_windows_without_a_lower_loss_and_the_rest_costs_nothing(folder, tmp_path):
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder, rate=1.0, other_rate=0.3, dropout=0.0, decay=0.1, steps=60)  # the loss rises after step 4
    plans = [WindowPlan(start, start + 4, 60, 4, patience=2) for start in range(0, 60, 4)]
    done = [run_window(spec, tmp_path, plan) for plan in plans]
    last = next(index for index, window in enumerate(done) if window.dev.stale_windows == 2)
    best = done[last].dev.best
    assert best is not None and best[0] == plans[last].stop - 8, "two windows after the best"
    assert [window.is_stopped_early for window in done] == [index > last for index in range(15)]
    assert all(not window.steps and window.dev_loss is None for window in done[last + 1 :])
    assert steps_of(tmp_path)[-1] == plans[last].stop
    kept = choose_checkpoint(spec, tmp_path, AUTO, 60)
    assert kept.step == best[0]
    # If the newest checkpoint is damaged, its steps are repeated, and the fit ends where it ended before.
    seal = checkpoint_of(tmp_path, plans[last].stop) / SEAL
    seal.write_text("{}")
    again = run_window(spec, tmp_path, plans[-1])
    assert again.is_stopped_early and steps_of(tmp_path)[-1] == plans[last].stop
    assert read_seal(checkpoint_of(tmp_path, plans[last].stop))["dev"]["stale_windows"] == 2


def test_the_losses_of_a_window_are_counted_once():
    record = DevRecord(best_before=2.0)
    record = record.add(5, 1.5).add(10, 1.6).end_window()
    assert (record.stale_windows, record.best, record.latest) == (0, (5, 1.5), 1.6)
    record = record.begin_window()
    assert (record.best_before, record.evaluations) == (1.5, ())
    assert record.end_window().stale_windows == 0, "a window without an evaluation does not count"
    record = record.add(15, 1.5).end_window()
    assert record.stale_windows == 1, "an equal loss is not lower"
    assert DevRecord.from_seal({"dev": json.loads(json.dumps(record.as_json()))}) == record
    former = DevRecord.from_seal({"step": 8, "dev_loss": 1.2, "best_dev_loss": 1.1})
    assert (former.latest, former.best, former.best_before) == (1.2, (8, 1.2), 1.1)


def test_an_incomplete_checkpoint_of_a_living_process_stays(tmp_path):
    living, dead, own = (
        tmp_path / f"partial-{socket.gethostname()}-{process}" for process in (os.getppid(), 2**22 + 1, os.getpid())
    )
    recent, abandoned = tmp_path / "partial-elsewhere-7", tmp_path / "partial-elsewhere-8"
    for path in (living, dead, own, recent, abandoned, tmp_path / "checkpoint-7"):
        path.mkdir()
    os.utime(abandoned, (0, 0))
    assert partial_folder_of(tmp_path) == own
    remove_old(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {living.name, own.name, recent.name}


def test_reports_are_lines_of_a_pipe_that_never_blocks(tmp_path):
    os.mkfifo(tmp_path / PIPE)
    reader = os.open(tmp_path / PIPE, os.O_RDWR | os.O_NONBLOCK)
    try:
        reporter = Reporter(tmp_path)
        reporter.update(FitPhase.LOADING, steps=9, start_step=2)
        line = json.loads(os.read(reader, 1 << 16))
        assert FitProgress(**line["progress"]) == FitProgress(phase=FitPhase.LOADING, steps=9, start_step=2)
        thread = threading.Thread(target=lambda: [reporter.update(FitPhase.TRAINING) for _ in range(5000)])
        thread.start()
        thread.join(30)
        assert not thread.is_alive(), "the pipe is full, and nobody reads it"
        assert not reporter.is_stop_requested()
        (tmp_path / STOP).touch()
        assert reporter.is_stop_requested()
    finally:
        os.close(reader)


def test_a_report_has_the_rate_and_the_remaining_time(monkeypatch):
    from lumos_queue.records import TrainingStep

    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: 2.0 * next(clock))
    seen = Stopper()
    seen.update(FitPhase.TRAINING, steps=50)
    for number in range(1, 5):
        seen.report_step(TrainingStep("", number, 1.0, 0.1, 0.5, 100, 7))
        assert (seen.progress.seconds_left is None) == (number < 3)
    assert (seen.progress.tokens_per_second, seen.progress.seconds_left) == (50.0, 92.0)


@pytest.mark.parametrize(
    ("options", "flag"),
    [({"patience": 2}, "--patience"), ({"eval_every": 5}, "--eval-every"), ({"keep": BEST}, "--keep best")],
)
def test_options_that_need_development_conversations_are_refused_without_them(options, flag, tmp_path):
    from lumos_queue.prompts.conversations import write_conversations
    from lumos_queue.training.engine.control import FitControl
    from lumos_queue.training.recipes.sft import sft
    from tests.tiny_fits import conversation

    build = tmp_path / "build"
    build.mkdir()
    write_conversations(map(conversation, range(8)), build / "planner_iterative.jsonl")
    recipe = sft([build], "scratch", tmp_path / "fit", "iterative", control=FitControl(**options))
    with pytest.raises(SpecError, match=f"^{flag} needs development conversations"):
        recipe.check_development()
    (build / "dev").mkdir()
    write_conversations(map(conversation, range(8, 12)), build / "dev" / "planner_iterative.jsonl")
    recipe.check_development()


def test_windows_after_the_early_end_need_no_training_process(tmp_path):
    from lumos_queue.training.early_end import skip_window
    from lumos_queue.training.engine.control import FitControl
    from lumos_queue.training.engine.spec import FitSpec
    from lumos_queue.training.recipes.sft import Sft

    control = FitControl(patience=2, keep=AUTO)
    recipe = Sft(("build",), "", str(tmp_path), "iterative", "joint", 40, 4, FitSpec(steps=20), control)
    checkpoint = checkpoint_of(recipe.checkpoints(), 12)
    checkpoint.mkdir(parents=True)

    def seal(**changes: object) -> None:
        dev = {"evaluations": [[12, 2.0]], "best": [4, 1.5], "best_before": 1.5, "stale_windows": 2}
        facts = {"files": {}, "spec": recipe.fit.digest, "step": 12, "dev": dev, **changes}
        (checkpoint / SEAL).write_text(json.dumps(facts))

    seal()
    fits = recipe.windows()[1:-1]
    assert [skip_window(recipe, window) is None for window in fits] == [True, True, True, False, False]
    skipped = skip_window(recipe, fits[-1])
    assert skipped is not None and not skipped.steps
    assert skipped.output["stopped_early"] and skipped.output["best"] == {"step": 4, "dev_loss": 1.5}
    assert [skip_window(recipe, window) for window in (recipe.windows()[0], recipe.windows()[-1])] == [None, None]
    unlike = {"evaluations": [], "best": [4, 1.5], "best_before": 1.5, "stale_windows": 1}
    for changes in ({"spec": "another fit"}, {"dev": unlike}, {"step": 11}):
        seal(**changes)
        assert skip_window(recipe, fits[-1]) is None, changes


def test_checkpoints_of_an_earlier_job_do_not_displace_new_ones(folder, tmp_path):
    """The job was cancelled at step 15, and the same command begins again."""
    from lumos_queue.training.engine.window import run_window

    spec = small_spec(folder)
    for start in (0, 5, 10):
        run_window(spec, tmp_path, WindowPlan(start, start + 5, 15, 5))
    shutil.rmtree(checkpoint_of(tmp_path, 5), ignore_errors=True)
    again = run_window(spec, tmp_path, WindowPlan(0, 5, 15, 5))
    assert (again.checkpoint.name, len(again.steps), again.is_stopped_early) == ("step-000005", 5, False)
    assert steps_of(tmp_path) == [5]


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_a_development_loss_that_is_no_number_is_a_diverged_fit(loss, tmp_path):
    from lumos_queue.training.engine.step_end import StepEnd

    plan = WindowPlan(0, 5, 5, 5)
    step_end = StepEnd(plan, tmp_path, DevRecord(), {}, lambda: loss, [], Reporter(), 1)
    with pytest.raises(DivergedFit, match=f"step 5: the development loss is {loss}"):
        step_end._decide(5)
